// The interval of one accumulator after one run of a chain, for eight weight rows at a time.
#pragma once

#include <cstddef>

#include "reference/accumulate/accumulation.h"
#include "reference/bound/accumulation_format.h"
#include "reference/bound/lanes.h"
#include "reference/bound/operands.h"

namespace moe4 {

// The kernel's accumulator lies in [value - below, value + above]. The exact sum lies within `slack` of
// value, the exact sum computed in double.
struct RunSum {
  RowPairs value{};
  RowPairs below{};
  RowPairs above{};
  RowPairs slack{};
};

// What the sums of one dot product have in common.
struct SumContext {
  const AccumulationFormat& format;
  const RowBlock& rows;
  const TokenOperand& token;
  bool f16 = false;  // a tensor core with F16 operands, else BF16
  // By row: bounds the error of each double addition relative to what has been added; 0 where no addition in
  // double rounds (BND-14).
  RowPairs rounding{};
};

// BND-14: how much an upper bound that is summed on the way may lack.
inline constexpr double kGrow = 1.0 + 0x1p-26;

// BND-4, and BND-7 if product_rounded: positions begin … end-1 into an accumulator of the format.
RunSum ieee_run(const SumContext& context, std::size_t begin, std::size_t end, bool product_rounded);

// BND-19: the same positions in steps of a tensor core.
RunSum tensor_core_run(const SumContext& context, std::size_t begin, std::size_t end, const TensorCore& unit);

// a = RN(a + b) (BND-5).
void join(RunSum& a, const RunSum& b, const AccumulationFormat& format);

// a = RN(a + s·b), the product rounded first if so declared (BND-24).
void join_scaled(RunSum& a, const RowPairs& s, RunSum b, const AccumulationFormat& format,
                 bool product_rounded);

}  // namespace moe4
