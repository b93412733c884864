// Tokens and blocks of weight rows as doubles, laid out for the bounds: in the order of the chains, eight
// rows side by side.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reference/accumulate/order.h"
#include "reference/formats/elements.h"
#include "reference/linear/expert_weights.h"

namespace moe4 {

// A ChainPlan made flat: position p of the sum holds index[p]; chain c is the positions begin[c] …
// begin[c+1]-1.
struct FlatPlan {
  std::vector<std::int32_t> index;
  std::vector<std::int32_t> begin;
  std::vector<std::pair<std::int32_t, std::int32_t>> joins;

  explicit FlatPlan(const ChainPlan& plan);
};

// No term: the lowest bit of a group of zeros.
inline constexpr int kNoBit = 1 << 28;

// The exponent of the lowest set bit of a finite double; kNoBit for zero.
int lowest_bit(double v);

// One activation row. Non-finite tokens are replaced by zero (BND-13).
struct TokenOperand {
  std::vector<double> x;        // by position
  std::vector<int> low_bit;     // by group of 32: lowest set bit of any token of the group
  std::vector<double> largest;  // by group: largest magnitude
  bool finite = true;
  bool tiny = false;  // a non-zero |x| < 2^-125 (BND-8)

  TokenOperand(const FlatPlan& plan, const Elements<3>& tokens, const std::array<std::int64_t, 2>& row);
};

inline constexpr int kRowBlock = 8;
using Pair = double __attribute__((vector_size(16)));
inline constexpr int kPairs = kRowBlock / 2;
using RowPairs = std::array<Pair, kPairs>;

// Rows o0 … o0+7 of one expert; rows beyond O are zeros. Non-finite weights are replaced by zero (BND-13).
struct RowBlock {
  std::vector<RowPairs> w;                               // by position
  std::vector<std::array<int, kRowBlock>> low_bit;       // by group
  std::vector<std::array<double, kRowBlock>> magnitude;  // by group: sum of the 32 magnitudes, exact
  std::array<bool, kRowBlock> finite{};
  bool tiny = false;  // a non-zero |w| < 2^-123 (BND-8)

  explicit RowBlock(const FlatPlan& plan);
  void decode(const WeightReader& weights, std::int64_t expert, std::int64_t first_row, std::int64_t out);

  double weight(std::size_t position, int row) const { return w[position][row / 2][row % 2]; }

 private:
  void decode_row(const WeightReader& weights, std::int64_t expert, std::int64_t row, int lane);
  std::vector<std::int32_t> position_;  // the inverse of FlatPlan::index
};

}  // namespace moe4
