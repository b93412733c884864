// All dot products that a call needs, bounded: each block of eight weight rows is decoded once for all uses
// of its expert.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/bound/dot_bound.h"
#include "reference/bound/operands.h"
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
  const WeightReader& weights;
  const Elements<3>& tokens;                              // [a,b,I]
  std::span<const std::array<std::int64_t, 2>> operands;  // the activation rows, by [a,b]
  std::span<const DotUse> uses;
  std::int64_t in = 0;
  std::int64_t out = 0;
  AccumulationFormat format;
  const Arithmetic& arithmetic;
};

// Calls finish(first, rows, dots) for each block of weight rows first … first+rows-1, dots in the order of
// uses; from several threads at once if there is enough to do.
using FinishBlock = std::function<void(std::int64_t first, int rows, std::span<const DotBlock> dots)>;
void bound_dots(const DotPass& pass, const FinishBlock& finish);

// BND-15 and BND-16: what no theorem covers.
Status refuse_width(std::int64_t in);
Status refuse_arithmetic(const Arithmetic& arithmetic);

}  // namespace moe4
