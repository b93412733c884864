// PTX that Triton made (tests/gpu/foreign) runs in the executor, and the reference agrees with it.
#include <gtest/gtest.h>

#include "oracle/gate/evaluate.h"
#include "oracle/report/write_file.h"
#include "oracle/subject/declaration_file.h"
#include "oracle/subject/gpu/mutation_run.h"
#include "oracle/subject/gpu/ptx_subject.h"

namespace moe4::oracle {
namespace {

const std::string kFolder = MOE4_SOURCE_DIR "/tests/gpu/foreign/";

struct Foreign {
  const char *kernel, *target;
};

class ForeignPtx : public testing::TestWithParam<Foreign> {
 public:
  static std::string ptx() { return kFolder + GetParam().kernel + "_" + GetParam().target + ".ptx"; }
  static std::string json() { return kFolder + GetParam().kernel + ".json"; }
  static Case case_of(const std::string& line) {
    const bool int4 = std::string_view(GetParam().kernel).starts_with("int4");
    return *parse_case((int4 ? "weights=int4 " : "weights=mxfp4 ") + line);
  }
};

TEST_P(ForeignPtx, AgreesWithTheReference) {
  Result<std::unique_ptr<Subject>> subject = open_ptx_subject(ptx(), json());
  ASSERT_TRUE(subject.ok()) << subject.error().message();
  // Bits are due on exact data, whatever the order and the tensor core. O and I with and without tails.
  for (const char* text :
       {"tokens=3 experts=4 top_k=2 in=96 out=33 dtype=bf16 fill=exact8 seed=0x5",
        "tokens=2 experts=3 top_k=3 in=160 out=32 dtype=bf16 fill=exact24 routing=duplicate seed=0x6",
        "tokens=1 experts=2 top_k=1 in=32 out=5 dtype=bf16 fill=exact24 routing=poison seed=0x7",
        "tokens=2 experts=1 top_k=0 in=64 out=8 dtype=bf16 fill=exact8 seed=0x8"}) {
    const CaseResult result = evaluate(**subject, case_of(text));
    EXPECT_EQ(result.verdict.status, VerdictStatus::kPassed) << text << "\n"
                                                             << result.failure << result.verdict.reason;
  }
}

// What runs is judged: addresses moved by one element do not pass.
TEST_P(ForeignPtx, FaultsInItAreSeen) {
  Result<std::string> text = read_file(ptx());
  Result<Declaration> declaration = read_declaration(json());
  ASSERT_TRUE(text.ok() && declaration.ok());
  const Result<PtxProgram> program = ptx_file_program(*text, ptx(), *declaration);
  ASSERT_TRUE(program.ok()) << program.error().message();
  MutationOptions options;
  options.kinds = {ptx::Mutation::kOffset};
  options.limit = 12;
  const Result<MutationReport> report = run_mutants(
      *program, {case_of("tokens=3 experts=4 top_k=2 in=96 out=33 dtype=bf16 fill=exact8 seed=0x5")},
      options);
  ASSERT_TRUE(report.ok()) << report.error().message();
  // All rows of a tile but one are masked: zeros, wherever they are read from.
  EXPECT_GE(report->count(Fate::kKilled), 9);
}

INSTANTIATE_TEST_SUITE_P(Triton, ForeignPtx,
                         testing::Values(Foreign{"mxfp4_dot", "sm80"}, Foreign{"mxfp4_dot", "sm90"},
                                         Foreign{"mxfp4_matmul", "sm80"}, Foreign{"mxfp4_matmul", "sm90"},
                                         Foreign{"mxfp4_dot_scaled", "sm80"},
                                         Foreign{"mxfp4_dot_scaled", "sm90"}, Foreign{"int4_matmul", "sm80"},
                                         Foreign{"int4_matmul", "sm90"}),
                         [](const testing::TestParamInfo<Foreign>& foreign) {
                           return std::string(foreign.param.kernel) + "_" + foreign.param.target;
                         });

}  // namespace
}  // namespace moe4::oracle
