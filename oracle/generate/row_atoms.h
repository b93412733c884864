// Sparse rows: a few non-zero weights at positions that a row draws once, whatever its length (DATA-20).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "oracle/generate/random.h"

namespace moe4::oracle {

// One non-zero weight of `units` (a multiple of the row's unit) at column `l` of group `g`.
struct Atom {
  std::int64_t g = 0;
  std::int64_t l = 0;
  int units = 0;
  bool negative = false;
};

struct RowAtoms {
  std::array<Atom, 6> atoms;
  int count = 0;
  std::span<const Atom> all() const { return {atoms.data(), static_cast<std::size_t>(count)}; }
};

// DATA-20: a group with a heavy share of group 0, and one draw in sixteen for each power of two up to 256.
std::int64_t dyadic_group(Key key);

// The atoms of row (e, o) whose units sum to at most 12; no two at one place. key: root(kCodeStream)(e)(o).
// int4: units up to 8, and 8 is negative, since q is -8..7 (DATA-35).
RowAtoms row_atoms(Key key, bool int4);

// The code whose magnitude is `halves` / 2, one of 0 1 2 3 4 6 8 12 (FMT-1).
std::uint8_t code_of(int halves, bool negative);

// The code of an INT4 weight of `units`.
constexpr std::uint8_t int4_code_of(int units, bool negative) {
  return static_cast<std::uint8_t>(8 + (negative ? -units : units));
}

// Sets 32 codes to +0 or -0 (codes 0 and 8), drawn from key; int4: to code 8, the one zero.
void zero_codes(Key key, bool int4, std::span<std::uint8_t> codes);

// DATA-19: slot j of token t takes part: slots 0 and 1, and one of each 2^b … 2^(b+1)-1 for b = 1 … 4.
bool active_slot(Key mixture_of_token, std::int64_t j);

}  // namespace moe4::oracle
