// FMT-3, FMT-4: where the 32 codes of a group lie in its 16 bytes.
#pragma once

#include <cstdint>

#include "reference/formats/e2m1.h"

namespace moe4 {

inline constexpr int kGroupSize = 32;
inline constexpr int kGroupBytes = 16;

// FMT-3: the element 2j of a row is the low nibble of byte j, the element 2j+1 the high nibble.
constexpr int byte_of_element(int element) { return element / 2; }
constexpr E2M1Bits code_in_byte(std::uint8_t byte, int element) {
  const int shift = element % 2 == 0 ? 0 : 4;
  return {static_cast<std::uint8_t>((byte >> shift) & 0xF)};
}

}  // namespace moe4
