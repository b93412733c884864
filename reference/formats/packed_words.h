// INT-2, INT-3: where the 32 codes of a group lie in its four words.
#pragma once

#include <cstdint>

#include "reference/formats/int4.h"

namespace moe4 {

inline constexpr int kCodesPerWord = 8;
inline constexpr int kGroupWords = 4;

// INT-2: element i of a row is in word i/8, at bits 4·(i%8) and up.
constexpr int word_of_element(int element) { return element / kCodesPerWord; }
constexpr Int4Bits code_in_word(std::uint32_t word, int element) {
  return {static_cast<std::uint8_t>((word >> (4 * (element % kCodesPerWord))) & 0xF)};
}

}  // namespace moe4
