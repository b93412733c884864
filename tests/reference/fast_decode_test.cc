// Every scale and code of both formats through every kernel set: one weight at a time comes out as the norm
// says.
#include <array>

#include "reference/fast/loops/kernels.h"
#include "reference/linear/int4_weight.h"
#include "reference/linear/weight.h"
#include "tests/reference/fast_kernels_guard.h"
#include "tests/reference/fast_problem.h"

namespace moe4::test {
namespace {

// Outputs [16,O]: row r is the weight of code r under each of the O scales.
Tensor weights_by_code(WeightFormat format, const Tensor& scales, std::int64_t out, double token) {
  constexpr std::int64_t kIn = 32;
  Tensor tokens(Dtype::kBF16, {16, kIn});
  for (std::int64_t r = 0; r < 16; ++r) put(tokens, r * kIn + r, token);
  Tensor packed =
      format == WeightFormat::kMxfp4 ? Tensor(Dtype::kU8, {1, out, 1, 16}) : Tensor(Dtype::kI32, {1, out, 4});
  for (std::size_t b = 0; b < packed.bytes(); ++b) {
    const auto code = static_cast<std::uint8_t>(2 * (b % 8));
    packed.data()[b] = static_cast<std::byte>(code | (code + 1) << 4);
  }
  const ExpertWeights weights = format == WeightFormat::kMxfp4
                                    ? ExpertWeights::mxfp4(packed.view(), scales.view())
                                    : ExpertWeights::int4(packed.view(), scales.view());
  const Tensor m_indices(Dtype::kI32, {16});
  auto result = fast::grouped_contiguous(GroupedContiguousInputs{tokens.view(), weights, m_indices.view()});
  EXPECT_TRUE(result.ok());
  return std::move(result->output);
}

TEST(FastDecode, EveryInt4WeightOnEveryKernelSet) {
  constexpr std::int64_t kScales = 65536;
  Tensor scales(Dtype::kBF16, {1, kScales, 1});
  for (std::int64_t s = 0; s < kScales; ++s) set_bits(scales, s, static_cast<std::uint64_t>(s));
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    const Tensor got = weights_by_code(WeightFormat::kInt4, scales, kScales, 1.0);
    std::int64_t wrong = 0;
    for (std::int64_t s = 0; s < kScales; ++s) {
      const BF16Bits scale{static_cast<std::uint16_t>(s)};
      bool finite = true;
      for (std::uint8_t code = 0; code < 16; ++code)
        finite = finite && decode(int4_weight(Int4Bits{code}, scale)).is_finite();
      for (std::uint8_t code = 0; code < 16; ++code) {
        std::uint64_t expected = int4_weight(Int4Bits{code}, scale).bits;
        if (expected == 0x8000) expected = 0;  // a sum of zeros is +0
        if (!finite) expected = 0x7FC0;        // each code stands twice, so an infinity meets a zero token
        const std::uint64_t bits = bits_at(got, code * kScales + s);
        wrong += bits != expected;
      }
    }
    EXPECT_EQ(wrong, 0) << kernels->name;
  }
}

TEST(FastDecode, EveryMxfp4WeightOnEveryKernelSet) {
  Tensor scales(Dtype::kU8, {1, 256, 1});
  for (std::int64_t s = 0; s < 256; ++s) set_bits(scales, s, static_cast<std::uint64_t>(s));
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    for (const int exponent : {-60, 0, 4}) {
      const Tensor got = weights_by_code(WeightFormat::kMxfp4, scales, 256, std::ldexp(1.0, exponent));
      for (std::int64_t s = 0; s < 256; ++s) {
        for (std::uint8_t code = 0; code < 16; ++code) {
          ExactValue w = weights_of_group(E8M0Bits{static_cast<std::uint8_t>(s)}, {})[code];
          w.exponent += exponent;
          std::uint64_t expected = round_to(kBF16, w);
          if (expected == 0x8000 && w.is_zero()) expected = 0;
          ASSERT_EQ(bits_at(got, code * 256 + s), expected)
              << kernels->name << " scale " << s << " code " << int{code};
        }
      }
    }
  }
}

// The bounds hold for every scale, and in a row of any length.
TEST(FastDecode, BoundsHoldForEveryScale) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    for (const WeightFormat format : kBothFormats) {
      const bool mxfp4 = format == WeightFormat::kMxfp4;
      for (std::uint32_t s = 0; s < (mxfp4 ? 256U : 65536U); s += mxfp4 ? 1 : 3) {
        const std::array<std::uint8_t, 2> bytes = {static_cast<std::uint8_t>(s),
                                                   static_cast<std::uint8_t>(s >> 8)};
        const double sum_abs = 3;
        const std::int32_t lsb = -5;
        const fast::RowBound bound = kernels->bound(format, bytes.data(), 1, &sum_abs, &lsb);
        const auto weights = mxfp4 ? weights_of_group(E8M0Bits{bytes[0]}, {})
                                   : weights_of_group(BF16Bits{static_cast<std::uint16_t>(s)});
        for (const ExactValue& w : weights) {
          if (!w.is_finite() || w.is_zero()) continue;
          const double magnitude = std::ldexp(static_cast<double>(w.significand), w.exponent);
          ASSERT_GE(bound.max_abs, magnitude) << s;
          ASSERT_GE(bound.sum_abs, 3 * magnitude) << s;
          ASSERT_LE(bound.lsb, w.exponent + std::countr_zero(w.significand) - 5) << s;
        }
      }
    }
    Random random(4);
    for (std::int64_t groups = 1; groups <= 21; ++groups) {
      std::vector<std::uint8_t> scales;
      std::vector<double> sum_abs;
      std::vector<std::int32_t> lsb;
      double total = 0;
      double most = 0;
      std::int32_t least = fast::kNoBits;
      for (std::int64_t g = 0; g < groups; ++g) {
        scales.push_back(static_cast<std::uint8_t>(random.between(100, 140)));
        sum_abs.push_back(random.unit());
        lsb.push_back(static_cast<std::int32_t>(random.between(-30, 0)));
        const double max_abs = std::ldexp(6.0, scales.back() - 127);
        total += max_abs * sum_abs.back();
        most = std::max(most, max_abs);
        least = std::min(least, scales.back() - 128 + lsb.back());
      }
      const fast::RowBound bound =
          kernels->bound(WeightFormat::kMxfp4, scales.data(), groups, sum_abs.data(), lsb.data());
      EXPECT_NEAR(bound.sum_abs, total, total * 1e-12);
      EXPECT_EQ(bound.max_abs, most);
      EXPECT_EQ(bound.lsb, least);
    }
  }
}

}  // namespace
}  // namespace moe4::test
