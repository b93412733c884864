#include "oracle/generate/row_atoms.h"

#include <algorithm>

namespace moe4::oracle {
namespace {

// Each pattern sums to 12 units at most, and the values are magnitudes of codes or these times two.
constexpr std::array<std::array<int, 6>, 8> kPatterns = {{
    {12, 0, 0, 0, 0, 0},
    {8, 4, 0, 0, 0, 0},
    {6, 6, 0, 0, 0, 0},
    {6, 4, 2, 0, 0, 0},
    {4, 4, 3, 1, 0, 0},
    {3, 3, 2, 2, 1, 1},
    {2, 2, 2, 2, 2, 2},
    {8, 3, 1, 0, 0, 0},
}};

constexpr std::array<std::array<int, 6>, 8> kInt4Patterns = {{
    {7, 5, 0, 0, 0, 0},
    {8, 4, 0, 0, 0, 0},
    {6, 6, 0, 0, 0, 0},
    {6, 4, 2, 0, 0, 0},
    {5, 4, 2, 1, 0, 0},
    {3, 3, 2, 2, 1, 1},
    {2, 2, 2, 2, 2, 2},
    {7, 3, 1, 0, 0, 0},
}};

constexpr std::array<int, 16> kBlocks = {0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8};

}  // namespace

std::int64_t dyadic_group(Key key) {
  const int block = kBlocks[static_cast<std::size_t>(key.bits(0, 4))];
  return block == 0 ? 0 : (std::int64_t{1} << (block - 1)) + key.bits(4, block - 1);
}

RowAtoms row_atoms(Key key, bool int4) {
  RowAtoms row;
  const auto& pattern = (int4 ? kInt4Patterns : kPatterns)[static_cast<std::size_t>(key.bits(0, 3))];
  for (std::int64_t n = 0; n < 6 && pattern[static_cast<std::size_t>(n)] != 0; ++n) {
    const Key draw = key(-1)(n);
    const int units = pattern[static_cast<std::size_t>(n)];
    const bool negative = draw.bits(24, 1) != 0 || (int4 && units == 8);
    const Atom atom{dyadic_group(draw), draw.bits(16, 5), units, negative};
    const auto same_place = [&atom](const Atom& other) { return other.g == atom.g && other.l == atom.l; };
    if (std::any_of(row.all().begin(), row.all().end(), same_place)) continue;
    row.atoms[static_cast<std::size_t>(row.count++)] = atom;
  }
  return row;
}

std::uint8_t code_of(int halves, bool negative) {
  constexpr std::array<std::uint8_t, 13> kCodes = {0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7};
  return static_cast<std::uint8_t>(kCodes[static_cast<std::size_t>(halves)] + (negative ? 8 : 0));
}

void zero_codes(Key key, bool int4, std::span<std::uint8_t> codes) {
  if (int4) return static_cast<void>(std::fill(codes.begin(), codes.end(), std::uint8_t{8}));
  for (std::size_t l = 0; l < codes.size(); ++l) {
    codes[l] = static_cast<std::uint8_t>(key.bits(static_cast<int>(l), 1) * 8);
  }
}

bool active_slot(Key mixture_of_token, std::int64_t j) {
  if (j < 2) return true;
  if (j >= 32) return false;
  std::int64_t block = 2;
  while (block * 2 <= j) block *= 2;
  return j == block + mixture_of_token(-1)(block).pick(block);
}

}  // namespace moe4::oracle
