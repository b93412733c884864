// What a kernel may hold as one dot product over i (BND-4 … BND-8, BND-10, BND-19 … BND-24), for eight rows
// at a time.
#pragma once

#include <array>

#include "reference/bound/accumulation_format.h"
#include "reference/bound/operands.h"
#include "reference/bound/run_sum.h"

namespace moe4 {

// d is the exact dot product, by PRO-3 with the accumulation `exact`. Magnitudes are upper bounds, finite
// unless the sum leaves binary64 (F64 tokens).
struct DotBound {
  double value = 0;  // d as far as double has it; meaningless for F64 tokens
  double slack = 0;  // |d - value|; infinite if d is not known that well
  double below = 0;  // the kernel holds a number in [value - below, value + above]
  double above = 0;
  double magnitude = 0;   // |d|
  double terms = 0;       // the sum of |w x|; only meant to be tight where the sum may be exact
  int low_bit = kNoBit;   // every product is a multiple of 2^low_bit; kNoBit: every product is zero
  bool exact = false;     // the kernel holds d: BND-10, or nothing is ever rounded
  bool overflow = false;  // BND-12: an intermediate may overflow
  bool flushed = false;   // BND-8: an operand may be flushed

  double error() const { return below > above ? below : above; }
};

class DotBounder {
 public:
  // tokens: the dtype of the activations that the products are formed with.
  DotBounder(const FlatPlan& plan, const AccumulationFormat& format, const Arithmetic& arithmetic,
             Dtype tokens);

  std::array<DotBound, kRowBlock> operator()(const RowBlock& rows, const TokenOperand& token) const;

 private:
  enum class Method { kAny, kIeee, kTensorCore, kExact };

  struct Total {
    RunSum sum;
    RowPairs magnitudes{};  // the sum of |w x|; kAny and kExact only
  };

  Total add_up_chains(const SumContext& context, std::vector<RunSum>& results) const;
  Total add_up_any(const SumContext& context) const;
  RunSum chain(const SumContext& context, std::size_t chain) const;
  RunSum run(const SumContext& context, std::size_t run) const;
  void bound_any(const SumContext& context, const Total& total, int row, DotBound& bound) const;
  bool cuts_by_zeros(const SumContext& context, int row, int low_bit) const;
  void add_partials(const std::vector<RunSum>& results, int row, DotBound& bound) const;

  double product_of_row(const SumContext& context, std::size_t position, int row) const;
  double peak_of_row(const SumContext& context, int row) const;
  double terms_of_row(const SumContext& context, int row) const;
  double flushed_of_row(const SumContext& context, int row) const;

  const FlatPlan& plan_;
  AccumulationFormat format_;
  Method method_;
  const TensorCore* unit_;
  bool rounded_;  // BND-7
  bool scaled_;   // BND-24: runs are multiplied by the scale of their group
  bool f16_;
  double operations_;  // roundings behind a sum over i, for round_up
};

}  // namespace moe4
