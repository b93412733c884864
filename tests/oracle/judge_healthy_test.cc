// VER-3, VER-4: healthy kernels in their declared orders pass on every fill and routing.
#include "tests/oracle/judged_run.h"

namespace moe4::oracle::test {
namespace {

using moe4::test::KernelSimulation;
using moe4::test::SlotOrder;

std::string line_of(Fill fill, const char* dtype, int seed) {
  return "op=expert_linear weights=mxfp4 tokens=6 experts=4 top_k=2 in=128 out=24 dtype=" +
         std::string(dtype) + " fill=" + std::string(name_of(fill)) +
         " routing=uniform seed=" + std::to_string(seed);
}

// Weights beyond F32 (scale bytes 253 and 254, COR-9) are not what a simulated F32 kernel can hold.
bool fits_f32(const CaseData& data) {
  for (const std::uint8_t byte : data.scale_bytes.as<std::uint8_t>()) {
    if (byte == 253 || byte == 254) return false;
  }
  return true;
}

TEST(JudgeHealthy, DeclaredOrdersPassOnEveryFill) {
  int judged = 0;
  for (const Fill fill : all_fills()) {
    for (const char* dtype : {"bf16", "f16", "f32", "f64"}) {
      for (const char* order : {"seq", "groups(32)", "lanes(32,8)+shfl", "lanes(4,1)+seq"}) {
        const CaseData data = data_of(line_of(fill, dtype, 1 + judged));
        if (!fits_f32(data) && std::string(dtype) != "f64") continue;
        const bool rounded = judged % 2 == 1;
        const KernelSimulation kernel{parse_order(order).value(), rounded,
                                      static_cast<SlotOrder>(judged % 5)};
        const Verdict verdict =
            judge(data, declaration_of(order, rounded), run_of(moe4::test::simulate(data.inputs(), kernel)));
        EXPECT_EQ(status_of(verdict), "PASSED")
            << to_string(*data.line) << " " << order << ": " << verdict.rule << ": " << verdict.reason;
        EXPECT_EQ(verdict.outputs, 6 * 24);
        ++judged;
      }
    }
  }
  EXPECT_GT(judged, 100);
}

TEST(JudgeHealthy, TheNormPassesOnEveryFillRoutingAndDtype) {
  for (const Fill fill : all_fills()) {
    for (const Routing routing : all_routings()) {
      if (routing == Routing::kSentinel || routing == Routing::kMinusOne || routing == Routing::kUnsorted)
        continue;
      const std::string line =
          "op=expert_linear weights=mxfp4 tokens=40 experts=5 top_k=2 in=64 out=9 dtype=bf16 fill=" +
          std::string(name_of(fill)) + " routing=" + std::string(name_of(routing)) + " seed=3";
      const CaseData data = data_of(line);
      Declaration declaration = declaration_of("seq");
      declaration.zero = ZeroCompare::kStrict;
      const Verdict verdict = judge(data, declaration, norm_run(data));
      EXPECT_EQ(status_of(verdict), "PASSED") << line << ": " << verdict.reason;
      EXPECT_EQ(verdict.max_ulp, 0);
    }
  }
}

TEST(JudgeHealthy, ExactFillsShowTheirProof) {
  for (const auto& [fill, limit] : {std::pair{"exact8", 256.0}, {"exact24", 16777216.0}}) {
    const CaseData data =
        data_of("op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 fill=" +
                std::string(fill) + " seed=5");
    const Verdict verdict = judge(data, declaration_of("any"), norm_run(data));
    EXPECT_EQ(status_of(verdict), "PASSED") << verdict.reason;
    EXPECT_TRUE(verdict.rule.starts_with("VER-3")) << verdict.rule;
    ASSERT_TRUE(verdict.proof);
    EXPECT_TRUE(verdict.proof->proved);
    EXPECT_EQ(verdict.proof->limit_units, limit);
    EXPECT_EQ(verdict.singleton_share, 1);
  }
}

// A kernel that flushes, declared so, on an exact fill: judged by interval, since a token may be subnormal.
TEST(JudgeHealthy, FlushingSubjectsAreJudgedByInterval) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 fill=exact8 seed=5");
  Declaration declaration = declaration_of("seq");
  declaration.arithmetic.ftz = true;
  const KernelSimulation kernel{parse_order("seq").value(), false, SlotOrder::kFused, true};
  const Verdict verdict = judge(data, declaration, run_of(moe4::test::simulate(data.inputs(), kernel)));
  EXPECT_EQ(status_of(verdict), "PASSED") << verdict.reason;
  EXPECT_TRUE(verdict.rule.starts_with("VER-4")) << verdict.rule;
}

TEST(JudgeHealthy, EmptyOutputPasses) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=0 experts=4 top_k=2 in=96 out=8 dtype=bf16 fill=real seed=5");
  const Verdict verdict = judge(data, declaration_of("seq"), norm_run(data));
  EXPECT_EQ(status_of(verdict), "PASSED");
  EXPECT_EQ(verdict.outputs, 0);
  EXPECT_EQ(verdict.coverage.outputs, 0);
}

}  // namespace
}  // namespace moe4::oracle::test
