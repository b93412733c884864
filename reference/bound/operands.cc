#include "reference/bound/operands.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/exact_double.h"

namespace moe4 {

TokenOperand::TokenOperand(const FlatPlan& plan, std::span<const ExactValue> row)
    : x(plan.in()), low_bit(plan.in() / kGroupSize, kNoBit), largest(plan.in() / kGroupSize, 0.0) {
  for (std::size_t p = 0; p < x.size(); ++p) {
    const ExactValue& value = row[static_cast<std::size_t>(plan.index[p])];
    if (!value.is_finite()) {
      finite = false;
      continue;
    }
    const double v = to_double(value);
    const auto g = static_cast<std::size_t>(plan.group[p]);
    x[p] = v;
    low_bit[g] = std::min(low_bit[g], lowest_bit(v));
    largest[g] = std::max(largest[g], std::fabs(v));
    largest_of_all = std::max(largest_of_all, std::fabs(v));
    tiny = tiny || (v != 0 && std::fabs(v) < 0x1p-125);
  }
}

RowBlock::RowBlock(const FlatPlan& plan, bool with_factors)
    : w(plan.in()),
      factor(with_factors ? plan.in() / kGroupSize : 0),
      low_bit(plan.in() / kGroupSize),
      magnitude(plan.in() / kGroupSize),
      position_(plan.in()) {
  for (std::size_t p = 0; p < plan.in(); ++p) {
    position_[static_cast<std::size_t>(plan.index[p])] = static_cast<std::int32_t>(p);
  }
}

void RowBlock::decode(WeightTables& weights, std::int64_t expert, std::int64_t first_row, std::int64_t out) {
  finite.fill(true);
  tiny = false;
  largest = RowPairs{};
  for (int lane = 0; lane < kRowBlock; ++lane) {
    if (first_row + lane < out) {
      decode_row(weights, expert, first_row + lane, lane);
      continue;
    }
    for (RowPairs& position : w) set_lane(position, lane, 0.0);
    for (RowPairs& group : factor) set_lane(group, lane, 0.0);
    for (std::size_t g = 0; g < low_bit.size(); ++g) {
      low_bit[g][lane] = kNoBit;
      magnitude[g][lane] = 0;
    }
  }
}

void RowBlock::decode_row(WeightTables& weights, std::int64_t expert, std::int64_t row, int lane) {
  double most = 0;
  for (std::size_t g = 0; g < low_bit.size(); ++g) {
    const auto group = static_cast<std::int64_t>(g);
    const ScaleWeights& scale = weights.scale(expert, row, group);
    const auto codes = weights.codes(expert, row, group);
    int low = kNoBit;
    double sum = 0;
    for (std::size_t k = 0; k < kGroupSize; ++k) {
      const std::size_t code = codes[k];
      const double value = scale.value[code];
      set_lane(w[static_cast<std::size_t>(position_[g * kGroupSize + k])], lane, value);
      finite[lane] = finite[lane] && scale.finite[code];
      low = std::min(low, scale.low_bit[code]);
      sum += std::fabs(value);
      most = std::max(most, std::fabs(value));
      tiny = tiny || (value != 0 && std::fabs(value) < 0x1p-123);
    }
    if (!factor.empty()) {
      const double f = scale.factor_value;
      set_lane(factor[g], lane, f);
      low = f == 0 || low == kNoBit ? kNoBit : low + lowest_bit(f);
      sum *= std::fabs(f);
      tiny = tiny || (f != 0 && std::fabs(f) < 0x1p-123);
    }
    low_bit[g][lane] = low;
    magnitude[g][lane] = sum;
  }
  set_lane(largest, lane, most);
}

}  // namespace moe4
