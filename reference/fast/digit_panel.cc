#include "reference/fast/digit_panel.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/formats/packed_codes.h"

namespace moe4::fast {
namespace {

constexpr int kDigitBits = 15;
constexpr int kMaxDigits = 32;

// (-1)^negative * significand * 2^exponent.
struct Number {
  std::uint32_t significand;
  std::int32_t exponent;
  bool negative;
};

Number parts(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto field = static_cast<std::int32_t>((bits >> 23) & 0xFF);
  return {(bits & 0x7FFFFF) | (field != 0 ? 0x800000U : 0U), std::max(field, 1) - 150, (bits >> 31) != 0};
}

// Digit k of a significand in units of 2^position, relative to the unit of digit 0.
std::int32_t digit(const Number& x, std::int32_t position, int k) {
  const std::int32_t shift = position + kDigitBits * k;
  constexpr std::uint32_t kMask = (1U << kDigitBits) - 1;
  std::uint32_t magnitude = 0;
  if (shift >= 0) {
    if (shift < kDigitBits)
      magnitude = static_cast<std::uint32_t>(std::uint64_t{x.significand} << shift) & kMask;
  } else if (shift > -32) {
    magnitude = (x.significand >> -shift) & kMask;
  }
  return x.negative ? -static_cast<std::int32_t>(magnitude) : static_cast<std::int32_t>(magnitude);
}

// Which digits of x are not zero.
std::uint32_t used_digits(const Number& x, std::int32_t position) {
  if (x.significand == 0) return 0;
  // Digit k has the bits -15·k .. -15·k + 14 of the number.
  const int lowest = position + std::countr_zero(x.significand);
  const int highest = position + 31 - std::countl_zero(x.significand);
  const int first = (kDigitBits - 1 - highest) / kDigitBits;  // highest <= 14
  const int last = lowest >= 0 ? 0 : (kDigitBits - 1 - lowest) / kDigitBits;
  std::uint32_t used = 0;
  for (int k = first; k <= last; ++k) used |= std::uint32_t{digit(x, position, k) != 0} << k;
  return used;
}

}  // namespace

bool DigitPanel::load(const float* tokens, std::int64_t rows, std::int64_t groups, std::int64_t stride) {
  rows_ = rows;
  const auto cells = static_cast<std::size_t>(rows * groups);
  used_.assign(cells, 0);
  unit_.assign(static_cast<std::size_t>(rows), 1);
  exponent_.assign(static_cast<std::size_t>(rows), 0);
  chain_ = 1;
  std::int64_t total = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* const x = tokens + r * stride;
    float most = 0;
    for (std::int64_t i = 0; i < groups * kGroupSize; ++i) most = std::max(most, std::fabs(x[i]));
    // most < 2^15 units.
    const std::int32_t exponent = most == 0 ? 0 : std::ilogb(most) - (kDigitBits - 1);
    exponent_[static_cast<std::size_t>(r)] = exponent;
    unit_[static_cast<std::size_t>(r)] = std::ldexp(1.0, exponent);
    std::int64_t digit_rows = 0;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::uint32_t used = 0;
      for (int k = 0; k < kGroupSize; ++k) {
        const Number number = parts(x[g * kGroupSize + k]);
        used |= used_digits(number, number.exponent - exponent);
      }
      used_[static_cast<std::size_t>(r * groups + g)] = used;
      digit_rows += std::popcount(used);
    }
    chain_ = std::max(chain_, digit_rows);
    total += digit_rows;
    if (total > 2 * rows * groups) return false;
  }

  first_plane_.clear();
  planes_.clear();
  row_.clear();
  std::int32_t* out = digits_.resize(std::max<std::int64_t>(total, 1) * (kGroupSize / 2));
  for (std::int64_t g = 0; g < groups; ++g) {
    first_plane_.push_back(static_cast<std::int64_t>(planes_.size()));
    std::uint32_t any = 0;
    for (std::int64_t r = 0; r < rows; ++r) any |= used_[static_cast<std::size_t>(r * groups + g)];
    for (int k = 0; k < kMaxDigits; ++k) {
      if ((any >> k & 1) == 0) continue;
      const auto begin = static_cast<std::int64_t>(row_.size());
      for (std::int64_t r = 0; r < rows; ++r) {
        if ((used_[static_cast<std::size_t>(r * groups + g)] >> k & 1) == 0) continue;
        const float* const x = tokens + r * stride + g * kGroupSize;
        const std::int32_t exponent = exponent_[static_cast<std::size_t>(r)];
        for (int pair = 0; pair < kGroupSize / 2; ++pair) {
          const Number even = parts(x[pair]);
          const Number odd = parts(x[kGroupSize / 2 + pair]);
          const auto low = static_cast<std::uint32_t>(digit(even, even.exponent - exponent, k)) & 0xFFFF;
          const auto high = static_cast<std::uint32_t>(digit(odd, odd.exponent - exponent, k)) << 16;
          *out++ = static_cast<std::int32_t>(high | low);
        }
        row_.push_back(static_cast<std::int32_t>(r));
      }
      planes_.push_back({std::ldexp(1.0, -kDigitBits * k), begin, static_cast<std::int64_t>(row_.size())});
    }
  }
  first_plane_.push_back(static_cast<std::int64_t>(planes_.size()));
  return true;
}

DigitJob DigitPanel::job() const {
  return {{}, rows_, first_plane_.data(), planes_.data(), digits_.data(), row_.data(), unit_.data(), nullptr};
}

}  // namespace moe4::fast
