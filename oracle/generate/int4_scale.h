// INT4 scales (DATA-34): BF16 encodings by exponent field.
#pragma once

#include <cstdint>

#include "oracle/generate/random.h"

namespace moe4::oracle {

// The last exponent field for which no weight -8·s … 7·s overflows BF16.
inline constexpr int kInt4LastField = 250;

constexpr std::uint16_t bf16_scale(bool negative, std::int64_t field, std::int64_t mantissa) {
  return static_cast<std::uint16_t>((negative ? 0x8000 : 0) | field << 7 | mantissa);
}

// A power of two (field >= 1) of either sign.
constexpr std::uint16_t pure_scale(Key key, std::int64_t field) {
  return bf16_scale(key.bits(0, 1) != 0, field, 0);
}

// A full mantissa and either sign; field 0 gives subnormals and zeros.
constexpr std::uint16_t full_scale(Key key, std::int64_t field) {
  return bf16_scale(key.bits(0, 1) != 0, field, key.bits(1, 7));
}

}  // namespace moe4::oracle
