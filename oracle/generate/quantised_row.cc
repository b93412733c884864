#include "oracle/generate/quantised_row.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

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

}  // namespace moe4::oracle
