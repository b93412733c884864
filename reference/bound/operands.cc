#include "reference/bound/operands.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/bound/exact_double.h"

namespace moe4 {
namespace {

// The 16 weights of a group, as doubles; lowest bits beside them.
struct GroupWeights {
  std::array<double, 16> value{};
  std::array<int, 16> low_bit{};
  std::array<bool, 16> finite{};

  explicit GroupWeights(const std::array<ExactValue, 16>& weights) {
    for (std::size_t code = 0; code < 16; ++code) {
      finite[code] = weights[code].is_finite();
      value[code] = finite[code] ? to_double(weights[code]) : 0.0;
      low_bit[code] = lowest_bit(value[code]);
    }
  }
};

}  // namespace

FlatPlan::FlatPlan(const ChainPlan& plan) : joins(plan.joins) {
  for (const auto& chain : plan.chains) {
    begin.push_back(static_cast<std::int32_t>(index.size()));
    index.insert(index.end(), chain.begin(), chain.end());
  }
  begin.push_back(static_cast<std::int32_t>(index.size()));
}

int lowest_bit(double v) {
  if (v == 0) return kNoBit;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(significand));
}

TokenOperand::TokenOperand(const FlatPlan& plan, const Elements<3>& tokens,
                           const std::array<std::int64_t, 2>& row)
    : x(plan.index.size()),
      low_bit(plan.index.size() / kGroupSize, kNoBit),
      largest(plan.index.size() / kGroupSize, 0.0) {
  for (std::size_t p = 0; p < x.size(); ++p) {
    const std::int32_t i = plan.index[p];
    const ExactValue value = tokens.value({row[0], row[1], i});
    if (!value.is_finite()) {
      finite = false;
      continue;
    }
    const double v = to_double(value);
    const auto g = static_cast<std::size_t>(i / kGroupSize);
    x[p] = v;
    low_bit[g] = std::min(low_bit[g], lowest_bit(v));
    largest[g] = std::max(largest[g], std::fabs(v));
    tiny = tiny || (v != 0 && std::fabs(v) < 0x1p-125);
  }
}

RowBlock::RowBlock(const FlatPlan& plan)
    : w(plan.index.size()),
      low_bit(plan.index.size() / kGroupSize),
      magnitude(plan.index.size() / kGroupSize),
      position_(plan.index.size()) {
  for (std::size_t p = 0; p < plan.index.size(); ++p) {
    position_[static_cast<std::size_t>(plan.index[p])] = static_cast<std::int32_t>(p);
  }
}

void RowBlock::decode(const WeightReader& weights, std::int64_t expert, std::int64_t first_row,
                      std::int64_t out) {
  finite.fill(true);
  tiny = false;
  for (int lane = 0; lane < kRowBlock; ++lane) {
    if (first_row + lane < out) {
      decode_row(weights, expert, first_row + lane, lane);
      continue;
    }
    for (RowPairs& position : w) position[lane / 2][lane % 2] = 0;
    for (std::size_t g = 0; g < low_bit.size(); ++g) {
      low_bit[g][lane] = kNoBit;
      magnitude[g][lane] = 0;
    }
  }
}

void RowBlock::decode_row(const WeightReader& weights, std::int64_t expert, std::int64_t row, int lane) {
  for (std::size_t g = 0; g < low_bit.size(); ++g) {
    const WeightGroup group = weights.group(expert, row, static_cast<std::int64_t>(g));
    const GroupWeights values(group.value_of_code);
    int low = kNoBit;
    double sum = 0;
    for (std::size_t k = 0; k < kGroupSize; ++k) {
      const std::size_t code = group.code[k];
      const double value = values.value[code];
      const auto p = static_cast<std::size_t>(position_[g * kGroupSize + k]);
      w[p][lane / 2][lane % 2] = value;
      finite[lane] = finite[lane] && values.finite[code];
      low = std::min(low, values.low_bit[code]);
      sum += std::fabs(value);
      tiny = tiny || (value != 0 && std::fabs(value) < 0x1p-123);
    }
    low_bit[g][lane] = low;
    magnitude[g][lane] = sum;
  }
}

}  // namespace moe4
