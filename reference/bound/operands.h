// Activation rows and blocks of weight rows as doubles, laid out for the bounds: in the order of the chains,
// eight weight rows side by side.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/bound/flat_plan.h"
#include "reference/bound/lanes.h"
#include "reference/bound/weight_tables.h"
#include "reference/formats/exact_value.h"

namespace moe4 {

// One activation row. Non-finite elements are replaced by zero (BND-13).
struct TokenOperand {
  std::vector<double> x;        // by position
  std::vector<int> low_bit;     // by group of 32: lowest set bit of any element of the group
  std::vector<double> largest;  // by group: largest magnitude
  double largest_of_all = 0;
  bool finite = true;
  bool tiny = false;  // a non-zero |x| < 2^-125 (BND-8)

  TokenOperand(const FlatPlan& plan, std::span<const ExactValue> row);
};

// Rows o0 … o0+7 of one expert; rows beyond O are zeros. Non-finite weights are replaced by zero (BND-13).
struct RowBlock {
  std::vector<RowPairs> w;                               // by position
  std::vector<RowPairs> factor;                          // by group; only under accumulator_scale
  std::vector<std::array<int, kRowBlock>> low_bit;       // by group, of factor·w
  std::vector<std::array<double, kRowBlock>> magnitude;  // by group: sum of the 32 |factor·w|, exact
  RowPairs largest{};                                    // by row: the largest |w|
  std::array<bool, kRowBlock> finite{};
  bool tiny = false;  // a non-zero |w| or |factor| < 2^-123 (BND-8)

  RowBlock(const FlatPlan& plan, bool with_factors);
  void decode(WeightTables& weights, std::int64_t expert, std::int64_t first_row, std::int64_t out);

  double weight(std::size_t position, int row) const { return lane(w[position], row); }

 private:
  void decode_row(WeightTables& weights, std::int64_t expert, std::int64_t row, int lane);
  std::vector<std::int32_t> position_;  // the inverse of FlatPlan::index
};

}  // namespace moe4
