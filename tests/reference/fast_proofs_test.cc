// The parts of the proof one by one, and what happens if a condition of it is wrong.
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cfenv>
#include <limits>

#include "reference/fast/digit_panel.h"
#include "reference/fast/expert_linear.h"
#include "reference/fast/round_interval.h"
#include "reference/fast/rows.h"
#include "tests/reference/fast_kernels_guard.h"
#include "tests/reference/fast_problem.h"

namespace moe4::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// --- rounding ---------------------------------------------------------------------------------------------

TEST(FastRounding, Bf16OfADoubleIsRoundTo) {
  Random random(1);
  for (int n = 0; n < 200000; ++n) {
    const int reach = n % 2 == 0 ? 160 : 12;
    double value = std::ldexp(random.gauss(), static_cast<int>(random.between(-reach, reach)));
    if (n % 3 == 0) {  // at and beside ties
      const double tie = std::ldexp(static_cast<double>(2 * random.between(128, 256) + 1),
                                    static_cast<int>(random.between(-150, 118)));
      value = random.sign() * std::bit_cast<double>(std::bit_cast<std::uint64_t>(tie) + random.below(3) - 1);
    }
    const std::uint64_t expected = value == 0 ? 0 : fast::round_double(Dtype::kBF16, value);
    ASSERT_EQ(fast::round_to_bf16(value), expected) << value;
  }
  EXPECT_EQ(fast::round_to_bf16(-0.0), 0);
  EXPECT_EQ(fast::round_to_bf16(-0x1p-200), 0x8000);
  EXPECT_EQ(fast::round_to_bf16(0x1.FFp127), 0x7F80);
}

// high + low against the exact accumulator, in all four formats.
TEST(FastRounding, ATailDecidesATie) {
  Random random(2);
  for (int n = 0; n < 50000; ++n) {
    for (const Dtype dtype : kFloatDtypes) {
      const int bits = dtype == Dtype::kF64 ? 53 : dtype == Dtype::kF32 ? 24 : dtype == Dtype::kF16 ? 11 : 8;
      const auto odd = static_cast<double>(
          2 * (random.below(std::uint64_t{1} << (bits - 1)) + (std::uint64_t{1} << (bits - 1))) + 1);
      const double high = random.sign() * std::ldexp(odd, static_cast<int>(random.between(-10, 3)) - bits);
      const double low = random.sign() * std::ldexp(static_cast<double>(random.below(3)), -90);
      OutputSum exact;
      exact.add(decode(F64Bits{std::bit_cast<std::uint64_t>(high)}));
      exact.add(decode(F64Bits{std::bit_cast<std::uint64_t>(low)}));
      ASSERT_EQ(fast::round_interval(dtype, {high, low, 0}), exact.round(format_of(dtype)))
          << high << " + " << low;
      const bool told =
          dtype == Dtype::kF64 || !fast::round_interval(dtype, {high, 0, 0x1p-100 * std::fabs(high)});
      ASSERT_TRUE(told);
    }
  }
}

TEST(FastRounding, AnIntervalWithTwoEncodingsIsNone) {
  EXPECT_EQ(fast::round_interval(Dtype::kBF16, {1.0, 0, 0x1p-10}), 0x3F80U);
  EXPECT_EQ(fast::round_interval(Dtype::kBF16, {1.0, 0, 0x1p-7}), std::nullopt);
  EXPECT_EQ(fast::round_interval(Dtype::kF32, {0, 0, 0x1p-200}), std::nullopt);  // -0 or +0
  EXPECT_EQ(fast::round_interval(Dtype::kF32, {0x1p-200, 0, 0x1p-201}), 0U);
  EXPECT_EQ(fast::round_interval(Dtype::kF32, {-0x1p-200, 0, 0x1p-201}), 0x80000000U);
  EXPECT_EQ(fast::round_interval(Dtype::kF16, {65519.9, 0, 0.01}), 0x7BFFU);
  EXPECT_EQ(fast::round_interval(Dtype::kF16, {65519.9, 0, 1.0}), std::nullopt);
  EXPECT_EQ(fast::round_interval(Dtype::kF16, {65521.0, 0, 0.5}), 0x7C00U);
}

// --- the weighted sum -------------------------------------------------------------------------------------

std::optional<std::uint64_t> f32_sum(double s, std::initializer_list<std::array<double, 3>> terms) {
  fast::WeightedSum sum(s);
  for (const auto& [p, d, error] : terms) sum.add(p, d, error);
  fast::Counters counters;
  const auto bits = sum.round(Dtype::kF32, counters);
  EXPECT_EQ(counters.outputs(), bits.has_value() ? 1 : 0);
  return bits;
}

TEST(FastWeightedSum, NonFiniteTermsFollowTheTrueSums) {
  constexpr std::uint64_t kNanBits = 0x7FC00000, kPlus = 0x7F800000, kMinus = 0xFF800000;
  EXPECT_EQ(f32_sum(0, {{kInf, 2, 0}}), kPlus);
  EXPECT_EQ(f32_sum(0, {{kInf, -2, 1}}), kMinus);
  EXPECT_EQ(f32_sum(0, {{kInf, 2, 3}}), std::nullopt);  // the true d may be zero or negative
  EXPECT_EQ(f32_sum(0, {{kInf, 0, 0}}), kNanBits);
  EXPECT_EQ(f32_sum(0, {{kInf, 1, 0}, {-kInf, 1, 0}}), kNanBits);
  EXPECT_EQ(f32_sum(-kInf, {{1, 1e300, 0}}), kMinus);
  EXPECT_EQ(f32_sum(0, {{0, kInf, 0}}), kNanBits);
}

TEST(FastWeightedSum, LeavesWhatTwoDoublesDoNotHold) {
  EXPECT_EQ(f32_sum(0, {{1e300, 1e300, 0}}), std::nullopt);
  EXPECT_EQ(f32_sum(0, {{1e-300, 1e-300, 0}}), std::nullopt);
  EXPECT_EQ(f32_sum(0, {{1e-300, 1, 1e-300}}), std::nullopt);
  EXPECT_EQ(f32_sum(1e300, {{1, 1, 0}}), std::nullopt);
  EXPECT_EQ(f32_sum(1, {{0, 1e300, 1}}), 0x3F800000U);
  // A tail that three doubles would hold: a tie of F32, and 2^-120 more.
  EXPECT_EQ(f32_sum(1 + 0x1p-24, {{0x1p-60, 0x1p-60, 0}}), 0x3F800001U);
  EXPECT_EQ(f32_sum(1 + 0x1p-24, {{0x1p-30, 0x1p-30, 0}, {0x1p-70, 0x1p-70, 0}, {-0x1p-30, 0x1p-30, 0}}),
            std::nullopt);
}

// --- digits -----------------------------------------------------------------------------------------------

TEST(FastDigits, AddUpToTheToken) {
  Random random(3);
  constexpr std::int64_t kRows = 7, kGroups = 3, kStride = fast::padded_stride(32 * kGroups);
  for (const int reach : {0, 3, 8, 120}) {
    fast::Aligned<float> tokens;
    float* const x = tokens.resize(kRows * kStride);
    for (std::int64_t k = 0; k < kRows * kStride; ++k) {
      const double value =
          std::ldexp(random.gauss(), static_cast<int>(random.between(-reach, reach) / 2 * random.below(2)));
      const auto bf16 = static_cast<std::uint32_t>(cut_to(Dtype::kBF16, random.below(5) == 0 ? 0 : value));
      x[k] = std::bit_cast<float>(bf16 << 16);
    }
    fast::DigitPanel panel;
    std::vector<float> max_abs(kRows, 0);
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t i = 0; i < 32 * kGroups; ++i) {
        float& most = max_abs[static_cast<std::size_t>(r)];
        most = std::max(most, std::fabs(x[r * kStride + i]));
      }
    }
    const bool usable = panel.load(x, max_abs.data(), kRows, kGroups, kStride, 1);
    EXPECT_EQ(usable, reach < 40) << reach;
    if (!usable) continue;
    const fast::DigitJob job = panel.job();
    std::vector<double> sum(kRows * kGroups * 32, 0);
    std::vector<std::int64_t> digit_rows(kRows, 0);
    for (std::int64_t g = 0; g < kGroups; ++g) {
      for (std::int64_t p = job.first_plane[g]; p < job.first_plane[g + 1]; ++p) {
        for (std::int64_t n = job.planes[p].begin; n < job.planes[p].end; ++n) {
          const std::int32_t r = job.row[n];
          ++digit_rows[static_cast<std::size_t>(r)];
          for (int i = 0; i < 32; ++i) {
            const std::int32_t pair = job.digits[16 * n + i / 2];
            const auto digit = static_cast<std::int16_t>(i % 2 == 0 ? pair & 0xFFFF : pair >> 16);
            const float token = x[r * kStride + 32 * g + i / 2 + (i % 2) * 16];
            ASSERT_GT(digit, -32768);
            ASSERT_TRUE(digit == 0 || (digit < 0) == (token < 0));
            sum[static_cast<std::size_t>((r * kGroups + g) * 32 + i)] +=
                digit * job.planes[p].unit * job.unit[r];
          }
        }
      }
    }
    for (std::int64_t r = 0; r < kRows; ++r) {
      EXPECT_LE(digit_rows[static_cast<std::size_t>(r)], panel.chain());
      for (std::int64_t i = 0; i < kGroups * 32; ++i) {
        const float token = x[r * kStride + i / 32 * 32 + i % 32 / 2 + (i % 2) * 16];
        ASSERT_EQ(sum[static_cast<std::size_t>(r * kGroups * 32 + i)], static_cast<double>(token));
      }
    }
  }
}

// --- threads ----------------------------------------------------------------------------------------------

TEST(FastThreads, ChangeNoBitAndNoCount) {
  const int before = omp_get_max_threads();
  for (const Hard kind : {Hard::kGauss, Hard::kWideTies, Hard::kNonFinite}) {
    const HardSet set = hard_set(kind, WeightFormat::kInt4, {24, 4, 160, 100, 3}, 6);
    std::vector<Tensor> outputs;
    std::vector<fast::Counters> counters(2);
    for (const int threads : {1, 2}) {
      omp_set_num_threads(threads);
      outputs.push_back(patterned(Dtype::kBF16, {24, 100}));
      EXPECT_FALSE(fast::expert_linear(set.linear(), outputs.back().mutable_view(), {},
                                       &counters[static_cast<std::size_t>(threads) - 1]));
    }
    expect_same_bytes(outputs[0], outputs[1], "threads");
    EXPECT_EQ(counters[0].certified, counters[1].certified);
    EXPECT_EQ(counters[0].exact, counters[1].exact);
    EXPECT_EQ(counters[0].non_finite, counters[1].non_finite);
  }
  omp_set_num_threads(before);
}

// --- another float unit -----------------------------------------------------------------------------------

TEST(FastFloatUnit, AnotherRoundingModeGoesToTheExactAccumulator) {
  const HardSet set = hard_set(Hard::kGauss, WeightFormat::kInt4, {3, 2, 64, 5, 2}, 6);
  Tensor linear(Dtype::kBF16, {3, 5});
  ASSERT_FALSE(expert_linear(set.linear(), linear.mutable_view()));
  const Tensor m_indices(Dtype::kI32, {3});
  const GroupedContiguousInputs rows{set.tokens.view(), set.weights(), m_indices.view()};
  const auto norm = grouped_contiguous(rows);
  Tensor fast_linear(Dtype::kBF16, {3, 5});
  fast::Counters counters;
  std::fesetround(FE_UPWARD);
  const Status status = fast::expert_linear(set.linear(), fast_linear.mutable_view(), {}, &counters);
  const auto fast = fast::grouped_contiguous(rows, {}, &counters);
  std::fesetround(FE_TONEAREST);
  ASSERT_TRUE(!status && norm.ok() && fast.ok());
  expect_same_bytes(linear, fast_linear, "expert_linear");
  expect_same_bytes(norm->output, fast->output, "rows");
  EXPECT_EQ(counters.exact, counters.outputs());
}

// --- planted faults: each condition wrong by a little, each told by the comparison with the norm
// -------------------

struct TwoBitsTooMany : fast::ProvenLimits {
  static constexpr int kBitsF64 = 55;
};
struct TwoBitsTooManyInF32 : fast::ProvenLimits {
  static constexpr int kBitsF32 = 26;
};
struct NoRoundoff : fast::ProvenLimits {
  static constexpr double kUnitRoundoff = 0x1p-70;
};

// How many outputs of rows of one expert differ from the norm's.
template <class Limits>
std::int64_t wrong_rows(const HardSet& set, fast::Counters& counters) {
  const std::int64_t m = set.tokens.dim(0);
  const std::int64_t out = set.packed_weights.dim(1);
  const Tensor m_indices(Dtype::kI32, {m});
  const auto rows = grouped_contiguous_rows({set.tokens.view(), set.weights(), m_indices.view()});
  EXPECT_TRUE(rows.ok());
  Tensor norm(Dtype::kBF16, {m, out});
  Tensor fast(Dtype::kBF16, {m, out});
  compute_rows(rows.value(), set.weights(), {}, norm.mutable_view());
  counters = fast::fast_rows<Limits>(rows.value(), set.weights(), {}, fast.mutable_view());
  std::int64_t wrong = 0;
  for (std::int64_t k = 0; k < norm.elements(); ++k) wrong += bits_at(norm, k) != bits_at(fast, k);
  return wrong;
}

// -8·(1 + 2^-8) - 2^lowest: a tie of BF16 and a little more, with the largest weight and the smallest,
// in one lane of every kernel set.
HardSet tie_and_a_little(int lowest) {
  HardSet set = hard_set(Hard::kZero, WeightFormat::kInt4, {4, 1, 32, 5, 1}, 1);
  for (std::size_t b = 0; b < set.packed_weights.bytes(); ++b) {
    set.packed_weights.data()[b] = static_cast<std::byte>(b % 16 == 0 ? 0x00 : 0x99);  // q = -8, -8, 1, 1, …
  }
  fill(set.tokens, 0);
  for (std::int64_t t = 0; t < 4; ++t) {
    put(set.tokens, t * 32, 1);
    put(set.tokens, t * 32 + 1, 0x1p-8);
    put(set.tokens, t * 32 + 16, -std::ldexp(1.0, lowest));
  }
  return set;
}

TEST(FastFaults, ACertificateOfTwoBitsTooManyIsTold) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    fast::Counters counters;
    EXPECT_GT(wrong_rows<TwoBitsTooMany>(tie_and_a_little(-51), counters), 0) << kernels->name;
    EXPECT_EQ(wrong_rows<fast::ProvenLimits>(tie_and_a_little(-51), counters), 0) << kernels->name;
    EXPECT_EQ(counters.exact, counters.outputs());
    EXPECT_EQ(wrong_rows<fast::ProvenLimits>(tie_and_a_little(-40), counters), 0) << kernels->name;
    EXPECT_EQ(counters.certified, counters.outputs());
  }
}

TEST(FastFaults, AnF32CertificateOfTwoBitsTooManyIsTold) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    if (kernels->dot_digits != nullptr) continue;
    const KernelsGuard guard(*kernels);
    fast::Counters counters;
    EXPECT_GT(wrong_rows<TwoBitsTooManyInF32>(tie_and_a_little(-22), counters), 0) << kernels->name;
    EXPECT_EQ(wrong_rows<fast::ProvenLimits>(tie_and_a_little(-22), counters), 0) << kernels->name;
    EXPECT_EQ(counters.certified_f32, 0);
    EXPECT_EQ(wrong_rows<fast::ProvenLimits>(tie_and_a_little(-14), counters), 0) << kernels->name;
    EXPECT_EQ(counters.certified_f32, counters.outputs());
  }
}

TEST(FastFaults, ARoundingTestWithoutRoundoffIsTold) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    fast::Counters counters;
    std::int64_t wrong = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const HardSet set = hard_set(Hard::kWideTies, WeightFormat::kMxfp4, {16, 1, 320, 40, 1}, seed);
      wrong += wrong_rows<NoRoundoff>(set, counters);
      EXPECT_EQ(wrong_rows<fast::ProvenLimits>(set, counters), 0);
      EXPECT_GT(counters.exact, 0);
    }
    EXPECT_GT(wrong, 0) << kernels->name;
  }
}

TEST(FastFaults, TheSameFaultsAreToldInAnExpertLinear) {
  const HardSet set = hard_set(Hard::kWideTies, WeightFormat::kMxfp4, {16, 2, 320, 40, 2}, 3);
  const auto dims = validate_expert_linear(set.linear());
  ASSERT_TRUE(dims.ok());
  Tensor norm(Dtype::kBF16, {16, 40});
  Tensor fast(Dtype::kBF16, {16, 40});
  ASSERT_FALSE(expert_linear(set.linear(), norm.mutable_view()));
  const fast::Counters proven =
      fast::fast_expert_linear<fast::ProvenLimits>(set.linear(), dims.value(), {}, fast.mutable_view());
  expect_same_bytes(norm, fast, "proven");
  EXPECT_GT(proven.exact, 0);
  fast::fast_expert_linear<NoRoundoff>(set.linear(), dims.value(), {}, fast.mutable_view());
  EXPECT_NE(bytes_of(norm), bytes_of(fast));
}

}  // namespace
}  // namespace moe4::test
