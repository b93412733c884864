// A result of another arithmetic than the declared one is named; a fault is not explained away.
#include "oracle/judge/identify.h"
#include <algorithm>

#include "oracle/faults/selftest.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

Arithmetic arithmetic_of(const char* text) { return parse_arithmetic(text).value(); }

TEST(Identify, AnotherProfileOrDequantisationIsNamed) {
  const std::string shape = " tokens=9 experts=6 top_k=4 in=96 out=20 dtype=bf16 fill=real seed=3";
  for (const auto& [weights, text] : {std::pair{"mxfp4", "order=seq profile=late_bf16_sum"},
                                      {"mxfp4", "order=seq profile=hf"},
                                      {"mxfp4", "order=seq profile=late"},
                                      {"int4", "order=seq dequant=truncate"},
                                      {"int4", "order=seq dequant=exactw"},
                                      {"int4", "order=seq dequant=zero_point_7"}}) {
    const CaseData data = data_of("op=expert_linear weights=" + std::string(weights) + shape);
    const Result<Norm> result = declared_result(data, arithmetic_of(text));
    ASSERT_TRUE(result.ok());
    const Declaration declaration = healthy_declaration();
    SubjectRun run;
    run.output = result->output;
    ASSERT_EQ(judge(data, declaration, run).status, VerdictStatus::kFailed) << text;
    const std::vector<Identified> found = identify(data, declaration, result->output);
    EXPECT_LE(found.size(), 2U) << text;  // accumulator_scale and exactw have the same exact values
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Identified& one) {
      return one.arithmetic == arithmetic_of(text);
    })) << text;
    EXPECT_EQ(judge(data, declaration, run).status, VerdictStatus::kFailed);
  }
}

TEST(Identify, AFaultIsNotExplainedAway) {
  const CaseData data = data_of(
      "op=expert_linear weights=int4 tokens=9 experts=6 top_k=4 in=96 out=20 dtype=bf16 fill=real seed=3");
  const Norm norm = norm_of_data(data);
  for (const Fault& fault : fault_catalogue()) {
    if (fault.cls == 'I' || fault.name == "zero_point_7" || fault.name == "twos_complement") continue;
    if (!applies(fault, data)) continue;
    const Result<Planted> planted = plant_fault(fault, data, norm, 1);
    ASSERT_TRUE(planted.ok());
    if (judge(data, healthy_declaration(), planted->run).mismatched == 0) continue;
    EXPECT_TRUE(identify(data, healthy_declaration(), planted->run.output).empty()) << fault.name;
  }
}

}  // namespace
}  // namespace moe4::oracle
