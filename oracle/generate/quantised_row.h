// QAT-like weights (DATA-26, DATA-39): Gaussian weights, quantised group by group, MXFP4 by the OCP floor
// rule, INT4 by the largest magnitude over 7.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "oracle/generate/fill_data.h"

namespace moe4::oracle {

// An integer Gaussian, -1020 … 1020 with standard deviation 209: eight uniform bytes minus 1020.
constexpr std::int32_t gaussian_bytes(std::uint64_t word) {
  constexpr std::uint64_t kEven = 0x00FF00FF00FF00FFu;
  const std::uint64_t pairs = (word & kEven) + ((word >> 8) & kEven);
  return static_cast<std::int32_t>((pairs * 0x0001000100010001u) >> 48) - 1020;
}

// The factor of a group: 128 … 255, sometimes doubled or quadrupled (outliers).
constexpr std::int32_t group_factor(Key key) {
  const int octave = key.bits(8, 6) == 0 ? 2 : key.bits(8, 4) == 0 ? 1 : 0;
  return static_cast<std::int32_t>(128 + key.bits(0, 7)) << octave;
}

// The group's weights are values[l] · 2^exponent. Writes 32 codes and returns the scale byte.
std::uint8_t quantise_group(const std::array<std::int32_t, kGroupSize>& values, int exponent,
                            std::span<std::uint8_t> codes);

// DATA-39, the same for INT4: the scale is the BF16 of max/7, codes are 1..15. Returns the scale's encoding.
std::uint16_t quantise_group_int4(const std::array<std::int32_t, kGroupSize>& values, int exponent,
                                  std::span<std::uint8_t> codes);

// DATA-26's row exponent: the weights of row (e, o) have a standard deviation of about 2^-6.
int row_exponent(Key row_of_expert_and_output);

}  // namespace moe4::oracle
