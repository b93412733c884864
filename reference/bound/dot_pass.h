// All dot products that a call needs, bounded: each block of eight weight rows is decoded once for all uses
// of its expert.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "reference/bound/dot_bound.h"
#include "reference/bound/exact_path.h"
#include "reference/bound/flat_plan.h"
#include "reference/bound/weight_tables.h"
#include "reference/linear/expert_weights.h"
#include "reference/profile/arithmetic.h"
#include "reference/status.h"

namespace moe4 {

// The dot products of activation row `operand` with every row of `expert`.
struct DotUse {
  std::int64_t expert = 0;
  std::size_t operand = 0;
};

// The bounds of one use for eight rows of weights; finite: no operand of that dot product is NaN or infinite.
struct DotBlock {
  std::array<DotBound, kRowBlock> bound;
  std::array<bool, kRowBlock> finite;
};

struct DotPass {
  const ExpertWeights& weights;
  const Policy& policy;
  const Arithmetic& arithmetic;
  AccumulationFormat format;
  Dtype tokens;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::span<const DotUse> uses;
  std::size_t operands = 0;
  std::function<void(std::size_t operand, std::span<ExactValue> row)> read;  // from several threads
};

// The bounds of weight rows first … first+count-1, by use, and the same dot products in exact numbers on
// demand.
class RowsOfDots {
 public:
  std::int64_t first = 0;
  int count = 0;
  std::span<const DotBlock> dots;

  RowsOfDots(const DotPass& pass, const FlatPlan& plan, WeightTables& weights)
      : pass_(pass), plan_(plan), weights_(weights), x_(static_cast<std::size_t>(pass.in)) {}

  // d of one use with weight row first + r.
  DotSum exact(std::size_t use, int r);

 private:
  const DotPass& pass_;
  const FlatPlan& plan_;
  WeightTables& weights_;
  std::vector<ExactValue> x_;
  std::size_t operand_of_x_ = static_cast<std::size_t>(-1);
};

// Calls finish for each block of weight rows; from several threads at once if there is enough to do.
void bound_dots(const DotPass& pass, const std::function<void(RowsOfDots&)>& finish);

// BND-15 and BND-16: what no theorem covers.
Status refuse_width(std::int64_t in);
Status refuse_arithmetic(const Arithmetic& arithmetic, WeightFormat weights, Dtype tokens);

}  // namespace moe4
