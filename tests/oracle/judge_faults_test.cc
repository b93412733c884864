// Planted faults: what the judge must not let pass, and where it says that they are.
#include <algorithm>
#include <array>
#include <cstring>

#include "oracle/judge/report_text.h"
#include "tests/oracle/judged_run.h"

namespace moe4::oracle::test {
namespace {

using moe4::test::KernelSimulation;
using moe4::test::simulate;

constexpr const char* kRealOrder = "lanes(32,8)+shfl";

std::string line_of(const std::string& fill) {
  return "op=expert_linear weights=mxfp4 tokens=12 experts=4 top_k=2 in=256 out=40 dtype=bf16 fill=" + fill +
         " seed=0x11";
}

KernelSimulation healthy() { return {parse_order(kRealOrder).value()}; }

// The verdict on a kernel that is healthy but computes from other tensors.
Verdict judge_other(const CaseData& data, const CaseData& seen) {
  return judge(data, declaration_of(kRealOrder), run_of(simulate(seen.inputs(), healthy())));
}

void set_output(Tensor& output, std::int64_t t, std::int64_t o, std::uint16_t bits) {
  output.as<std::uint16_t>()[static_cast<std::size_t>(t * output.dim(1) + o)] = bits;
}
std::uint16_t output_at(const Tensor& output, std::int64_t t, std::int64_t o) {
  return output.as<std::uint16_t>()[static_cast<std::size_t>(t * output.dim(1) + o)];
}

// One step of the code at expert e, row o, index i.
void step_code(CaseData& data, std::int64_t e, std::int64_t o, std::int64_t i) {
  const std::int64_t row = (e * data.packed_weights.dim(1) + o) * (data.latent_tokens.dim(1) / 2);
  std::uint8_t& byte = data.packed_weights.as<std::uint8_t>()[static_cast<std::size_t>(row + i / 2)];
  const int shift = i % 2 == 0 ? 0 : 4;
  const int code = (byte >> shift) & 0xF;
  const int stepped = (code & 7) == 7 ? code - 1 : code + 1;
  byte = static_cast<std::uint8_t>((byte & ~(0xF << shift)) | (stepped << shift));
}

// Every code of one column, a step off, in one row: each fill must tell at least one of the columns.
TEST(JudgeFaults, OneNibbleOffByAStep) {
  for (const char* fill : {"exact8", "exact24", "real", "bits"}) {
    const CaseData data = data_of(line_of(fill));
    int told = 0;
    for (std::int64_t i = 0; i < 32; ++i) {
      CaseData seen = data;
      step_code(seen, 1, 7, i);
      const Verdict verdict = judge_other(data, seen);
      if (verdict.status != VerdictStatus::kFailed) continue;
      ++told;
      for (const Mismatch& m : verdict.worst) EXPECT_EQ(m.out, 7);
    }
    EXPECT_GT(told, 16) << fill;
  }
}

// onehot reads every column of every row: each single step is told.
TEST(JudgeFaults, OneHotTellsEveryNibble) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=64 experts=2 top_k=1 in=64 out=16 dtype=bf16 fill=onehot "
      "routing=one seed=4");
  const auto ids = data.selected_experts.as<std::int32_t>();
  for (std::int64_t i = 0; i < 64; ++i) {
    CaseData seen = data;
    step_code(seen, ids[0], 5, i);
    EXPECT_EQ(status_of(judge_other(data, seen)), "FAILED") << i;
  }
}

TEST(JudgeFaults, OneGroupScaleDoubled) {
  for (const char* fill : {"exact8", "exact24", "real"}) {
    const CaseData data = data_of(line_of(fill));
    int told = 0;
    for (std::int64_t g = 0; g < 8; ++g) {
      CaseData seen = data;
      ++seen.scale_bytes.as<std::uint8_t>()[static_cast<std::size_t>((2 * 40 + 3) * 8 + g)];
      const Verdict verdict = judge_other(data, seen);
      told += verdict.status == VerdictStatus::kFailed ? 1 : 0;
    }
    EXPECT_GE(told, std::string(fill) == "exact8" ? 2 : 7) << fill;
  }
}

TEST(JudgeFaults, TruncationAtTheStore) {
  for (const char* fill : {"exact24", "real", "ties", "positive"}) {
    const CaseData data = data_of(line_of(fill));
    KernelSimulation kernel = healthy();
    kernel.truncate_output = true;
    const Verdict verdict = judge(data, declaration_of(kRealOrder), run_of(simulate(data.inputs(), kernel)));
    EXPECT_EQ(status_of(verdict), "FAILED") << fill;
    EXPECT_EQ(verdict.max_ulp, 1) << fill;
  }
}

TEST(JudgeFaults, LastGroupDropped) {
  for (const char* fill : {"exact24", "real", "bits", "positive"}) {
    const CaseData data = data_of(line_of(fill));
    CaseData seen = data;
    auto codes = seen.packed_weights.as<std::uint8_t>();
    for (std::size_t row = 0; row < codes.size() / 128; ++row) std::fill_n(&codes[row * 128 + 112], 16, 0);
    const Verdict verdict = judge_other(data, seen);
    EXPECT_EQ(status_of(verdict), "FAILED") << fill;
    EXPECT_GT(verdict.mismatched, verdict.outputs / 8) << fill;
  }
}

TEST(JudgeFaults, RowsSwapped) {
  const CaseData data = data_of(line_of("exact8"));
  Tensor output = norm_of(data);
  for (std::int64_t t = 0; t < 12; ++t) {
    const std::uint16_t first = output_at(output, t, 10);
    set_output(output, t, 10, output_at(output, t, 11));
    set_output(output, t, 11, first);
  }
  const Verdict verdict = judge(data, declaration_of("seq"), run_of(std::move(output)));
  EXPECT_EQ(status_of(verdict), "FAILED");
  for (const Mismatch& m : verdict.worst) EXPECT_TRUE(m.out == 10 || m.out == 11);
  EXPECT_NE(report_text(data, declaration_of("seq"), verdict).find("outputs: 2 of 40: 10..11"),
            std::string::npos);
}

TEST(JudgeFaults, WrongExpertForOnePair) {
  const CaseData data = data_of(line_of("real"));
  CaseData seen = data;
  auto ids = seen.selected_experts.as<std::int32_t>();
  ids[2 * 5] = (ids[2 * 5] + 1) % 4;
  const Verdict verdict = judge_other(data, seen);
  EXPECT_EQ(status_of(verdict), "FAILED");
  for (const Mismatch& m : verdict.worst) EXPECT_EQ(m.row, 5);
}

TEST(JudgeFaults, MixtureWeightRoundedToBf16) {
  const CaseData data = data_of(line_of("real"));
  KernelSimulation kernel = healthy();
  kernel.round_mixture_to_bf16 = true;
  const Verdict verdict = judge(data, declaration_of(kRealOrder), run_of(simulate(data.inputs(), kernel)));
  EXPECT_EQ(status_of(verdict), "FAILED");
}

// A whole expert read from its neighbour: the report names it.
TEST(JudgeFaults, AWholeExpertIsNamed) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=12 experts=4 top_k=1 in=128 out=16 dtype=bf16 fill=real "
      "routing=uniform seed=9");
  CaseData seen = data;
  auto codes = seen.packed_weights.as<std::uint8_t>();
  std::copy_n(&codes[3 * 16 * 64], 16 * 64, &codes[2 * 16 * 64]);
  const Verdict verdict = judge_other(data, seen);
  ASSERT_EQ(status_of(verdict), "FAILED");
  const std::string text = report_text(data, declaration_of(kRealOrder), verdict);
  EXPECT_NE(text.find("expert 2: the wrong tokens are those that select it"), std::string::npos) << text;
}

// The line of the smoke list, with the outputs' dtype.
CaseData tall_pairs(const std::string& dtype) {
  return data_of("op=expert_linear weights=mxfp4 tokens=96 experts=3 top_k=1 in=1024 out=2 dtype=" + dtype +
                 " fill=tall_pairs seed=0xa00");
}

TEST(JudgeFaults, AWrongOrderIsToldOnTallPairs) {
  constexpr std::array kOrders = {"seq",      "groups(32)",      "lanes(32,8)+shfl", "lanes(32,16)+shfl",
                                  "split(2)", "warps(64,4)+tree"};
  for (const char* dtype : {"bf16", "f32"}) {
    const CaseData data = tall_pairs(dtype);
    for (const char* real : kOrders) {
      const Tensor output = simulate(data.inputs(), {parse_order(real).value()});
      for (const char* declared : kOrders) {
        const Verdict verdict = judge(data, declaration_of(declared), run_of(output));
        EXPECT_EQ(status_of(verdict), real == declared ? "PASSED" : "FAILED")
            << dtype << ": " << real << " declared as " << declared;
      }
      EXPECT_EQ(status_of(judge(data, declaration_of("any"), run_of(output))), "PASSED");
    }
  }
}

TEST(JudgeFaults, NanForAFiniteOutput) {
  const CaseData data = data_of(line_of("exact8"));
  Tensor output = norm_of(data);
  set_output(output, 3, 9, 0x7FC0);
  set_output(output, 4, 9, 0x7F80);
  const Verdict verdict = judge(data, declaration_of("seq"), run_of(std::move(output)));
  EXPECT_EQ(status_of(verdict), "FAILED");
  EXPECT_EQ(verdict.mismatched, 2);
  EXPECT_EQ(verdict.nan, 1);
  EXPECT_EQ(verdict.inf, 1);
  EXPECT_EQ(verdict.worst.at(0).got, 0x7FC0U);
}

TEST(JudgeFaults, MinusZeroOnlyWhereStrict) {
  const CaseData data = data_of(line_of("exact8"));
  Tensor output = norm_of(data);
  std::int64_t zeros = 0;
  for (std::uint16_t& bits : output.as<std::uint16_t>()) {
    if (bits != 0) continue;
    bits = 0x8000;
    ++zeros;
  }
  ASSERT_GT(zeros, 0) << "the fill has no zero output; choose another seed";
  Declaration declaration = declaration_of("seq");
  EXPECT_EQ(status_of(judge(data, declaration, run_of(output))), "PASSED");
  declaration.zero = ZeroCompare::kStrict;
  const Verdict strict = judge(data, declaration, run_of(output));
  EXPECT_EQ(status_of(strict), "FAILED");
  EXPECT_EQ(strict.mismatched, zeros);
}

}  // namespace
}  // namespace moe4::oracle::test
