#include "oracle/generate/quantised_row.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "oracle/generate/int4_scale.h"

namespace moe4::oracle {

int row_exponent(Key row_of_expert_and_output) {
  return -23 + static_cast<int>(row_of_expert_and_output.pick(3));
}

std::uint8_t quantise_group(const std::array<std::int32_t, kGroupSize>& values, int exponent,
                            std::span<std::uint8_t> codes) {
  std::int32_t largest = 1;
  for (const std::int32_t v : values) largest = std::max(largest, std::abs(v));
  const int floor_log2 = std::bit_width(static_cast<std::uint32_t>(largest)) - 1;
  // OCP floor rule: scale = 2^(floor(log2 largest) - 2). With F = 2^floor_log2, |v|/scale = 4|v|/F; the
  // thresholds 0.25 … 5 become multiples of F, and a tie goes to the even code.
  const std::int32_t f = std::int32_t{1} << floor_log2;
  for (std::size_t l = 0; l < values.size(); ++l) {
    const std::int32_t v = values[l];
    const std::int32_t y = 16 * std::abs(v);
    const int code =
        (y > f) + (y >= 3 * f) + (y > 5 * f) + (y >= 7 * f) + (y > 10 * f) + (y >= 14 * f) + (y > 20 * f);
    codes[l] = static_cast<std::uint8_t>(code + (v < 0 ? 8 : 0));
  }
  return static_cast<std::uint8_t>(127 + floor_log2 - 2 + exponent);
}

namespace {

// a/b to nearest, ties to even. Precondition: a >= 0, b > 0.
std::int64_t divide_to_nearest(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  const std::int64_t twice = 2 * (a % b);
  return quotient + (twice > b || (twice == b && quotient % 2 != 0) ? 1 : 0);
}

}  // namespace

std::uint16_t quantise_group_int4(const std::array<std::int32_t, kGroupSize>& values, int exponent,
                                  std::span<std::uint8_t> codes) {
  std::int64_t largest = 1;
  for (const std::int32_t v : values) largest = std::max<std::int64_t>(largest, std::abs(v));
  // In 2^-20: s = largest/7 = significand · 2^shift with 128 <= significand < 256.
  const std::int64_t fixed = largest << 20;
  int shift = std::bit_width(static_cast<std::uint64_t>(fixed / 7)) - 8;
  std::int64_t significand = divide_to_nearest(fixed, std::int64_t{7} << shift);
  if (significand == 256) {
    significand = 128;
    ++shift;
  }
  for (std::size_t l = 0; l < values.size(); ++l) {
    const std::int64_t size = std::int64_t{std::abs(values[l])} << 20;
    const std::int64_t q = std::min<std::int64_t>(divide_to_nearest(size, significand << shift), 7);
    codes[l] = static_cast<std::uint8_t>(8 + (values[l] < 0 ? -q : q));
  }
  return bf16_scale(false, 127 + 7 + shift - 20 + exponent, significand - 128);
}

}  // namespace moe4::oracle
