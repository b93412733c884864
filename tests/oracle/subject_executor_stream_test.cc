// Stream-K: blocks that share a tile add their BF16 sums in turn. Right and free of races whatever the order
// of the blocks; each part of the protocol and of the order that is taken out is found.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/oracle/judged_variant.h"

namespace moe4::oracle {
namespace {

using gpu::Variant;
using test::built_with_nvcc;
using test::judge_variant;
using test::Judged;
using test::registered;

// Two tiles of ids and two of outputs; slices of 6 groups, and of 4 or 5 that begin within a step of 64
// columns.
std::string line_of(const std::string& in, const std::string& fill) {
  return "op=indexed weights=int4 tokens=11 experts=2 top_k=1 in=" + in +
         " out=320 dtype=bf16 block_m=8 layout=indexed_wgmma fill=" + fill + " routing=hot seed=0x5";
}

class ExecutorSubjectStream : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  }
};

std::string entry_of(const Variant& variant) {
  const std::string text(variant.ptx);
  const std::size_t begin = text.find(".visible .entry " + std::string(variant.name) + "(");
  return text.substr(begin, text.find(".visible .entry ", begin + 1) - begin);
}

// The entry with its last `from` made `to`.
std::string without(const Variant& variant, const std::string& from, const std::string& to) {
  std::string text(variant.ptx);
  const std::string entry = entry_of(variant);
  const std::size_t begin = text.find(entry), at = text.rfind(from, begin + entry.size());
  EXPECT_GE(at, begin) << from;
  return text.replace(at, from.size(), to);
}

TEST_P(ExecutorSubjectStream, HoldsUnderEverySchedule) {
  const Variant& variant = registered(GetParam());
  for (const char* in : {"64", "384", "448"}) {
    for (int schedule = 0; schedule <= 8; ++schedule) {
      const std::string line =
          line_of(in, "real") + (schedule == 0 ? "" : " schedule=" + std::to_string(schedule));
      const Judged judged = judge_variant(variant, line);
      EXPECT_EQ(name_of(judged.verdict.status), "PASSED") << line << "\n"
                                                          << judged.verdict.reason << judged.run.reason;
      for (const DeviceFinding& finding : judged.run.findings) ADD_FAILURE() << line << finding.text;
    }
  }
}

std::string findings_of(const Judged& judged) {
  std::string found;
  for (const DeviceFinding& finding : judged.run.findings) found += finding.check + " " + finding.text + "\n";
  return found;
}

TEST_P(ExecutorSubjectStream, EveryPartOfATurnCounts) {
  const struct {
    const char *from, *to;
  } kPlanted[] = {
      {"ld.acquire.gpu.global.s32", "ld.relaxed.gpu.global.s32"},
      {"st.release.gpu.global.s32", "st.relaxed.gpu.global.s32"},
      {"ld.acquire.gpu.global.s32", "ld.acquire.cta.global.s32"},
      {"st.release.gpu.global.s32", "st.release.cta.global.s32"},
      {"bar.sync", "//"},  // before the turn ends
  };
  for (const auto& [from, to] : kPlanted) {
    SCOPED_TRACE(std::string(from) + " → " + to);
    Variant variant = registered(GetParam());
    const std::string ptx = without(variant, from, to);
    variant.ptx = ptx;
    const Judged judged = judge_variant(variant, line_of("384", "exact8"));
    EXPECT_EQ(name_of(judged.verdict.status), "FAILED");
    EXPECT_NE(findings_of(judged).find("global-race"), std::string::npos) << findings_of(judged);
  }
}

// A turn that does not end leaves the next one waiting.
TEST_P(ExecutorSubjectStream, ATurnThatDoesNotEndIsFound) {
  Variant variant = registered(GetParam());
  const std::string ptx = without(variant, "st.release.gpu.global.s32", "//");
  variant.ptx = ptx;
  const Judged judged = judge_variant(variant, line_of("384", "exact8"));
  EXPECT_NE(name_of(judged.verdict.status), "PASSED");
  EXPECT_NE(findings_of(judged), "");
}

INSTANTIATE_TEST_SUITE_P(Slices, ExecutorSubjectStream,
                         testing::Values("int4_indexed_wgmma_stream_m64s2_bf16",
                                         "int4_indexed_wgmma_stream_m64s3_bf16"),
                         [](const auto& variant) { return variant.param.substr(26, 5); });

// BF16 sums of three depend on their order: the first slice first in place of the last. exact8 cannot see it.
TEST(ExecutorSubjectStreamOrder, SlicesInTheWrongOrderAreFound) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  Variant variant = registered("int4_indexed_wgmma_stream_m64s3_bf16");
  const std::string entry = entry_of(variant);
  std::string text(variant.ptx);
  // slice = 2 - turn is the first 32-bit subtraction; now slice = turn.
  const std::regex slice("sub\\.s32[ \t]+(%r[0-9]+), (%r[0-9]+), (%r[0-9]+);");
  const std::string wrong =
      std::regex_replace(entry, slice, "mov.u32 $1, $3;", std::regex_constants::format_first_only);
  ASSERT_NE(wrong, entry);
  text.replace(text.find(entry), entry.size(), wrong);
  variant.ptx = text;
  EXPECT_EQ(name_of(judge_variant(variant, line_of("384", "exact8")).verdict.status), "PASSED");
  const Judged judged = judge_variant(variant, line_of("384", "real"));
  EXPECT_EQ(name_of(judged.verdict.status), "FAILED");
  EXPECT_EQ(findings_of(judged), "");
}

// What the kernel does is told from what it might be taken for, both ways.
TEST(ExecutorSubjectStreamOrder, PartialSumsInFp32AreFound) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  const auto declared = [](const char* name, const std::string& from, const std::string& to) {
    Variant variant = registered(name);
    std::string declaration(variant.declaration);
    const std::size_t at = declaration.find(from);
    EXPECT_NE(at, std::string::npos);
    declaration.replace(at, from.size(), to);
    variant.declaration = declaration;
    return std::string(name_of(judge_variant(variant, line_of("384", "real")).verdict.status));
  };
  EXPECT_EQ(declared("int4_indexed_wgmma_m64_bf16", "\"seq\"", "\"streamk(2)\""), "FAILED");
  EXPECT_EQ(declared("int4_indexed_wgmma_m64_bf16", "\"seq\"", "\"streamk(3)\""), "FAILED");
  EXPECT_EQ(declared("int4_indexed_wgmma_stream_m64s2_bf16", "streamk(2)", "split(2)"), "FAILED");
  EXPECT_EQ(declared("int4_indexed_wgmma_stream_m64s3_bf16", "streamk(3)", "streamk(2)"), "FAILED");
  EXPECT_EQ(declared("int4_indexed_wgmma_stream_m64s3_bf16", "streamk(3)", "streamk(4)"), "MISTRUSTED")
      << "PRO-18: the order of more than three is open";
}

}  // namespace
}  // namespace moe4::oracle
