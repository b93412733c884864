// DATA-21: uniform codes of a row, sixteen from each word.
#pragma once

#include <span>

#include "oracle/generate/random.h"

namespace moe4::oracle {

inline void uniform_codes(Key row, std::span<std::uint8_t> codes) {
  for (std::size_t first = 0; first < codes.size(); first += 16) {
    const Key word = row(static_cast<std::int64_t>(first / 16));
    for (std::size_t n = 0; n < 16 && first + n < codes.size(); ++n) {
      codes[first + n] = static_cast<std::uint8_t>(word.bits(4 * static_cast<int>(n), 4));
    }
  }
}

}  // namespace moe4::oracle
