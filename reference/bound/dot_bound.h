// The error of one dot product over i (BND-4 … BND-8, BND-10), for eight rows at a time.
#pragma once

#include <array>

#include "reference/bound/accumulation_format.h"
#include "reference/bound/operands.h"

namespace moe4 {

// Everything is an upper bound; magnitude and terms are finite unless the sum leaves binary64 (F64 tokens).
struct DotBound {
  double error = 0;       // |what the kernel holds - d|
  double value = 0;       // |d|, computed; not a bound
  double magnitude = 0;   // |d|
  double terms = 0;       // the sum of |w x|; only meant to be tight where the sum may be exact
  int low_bit = kNoBit;   // every product is a multiple of 2^low_bit; kNoBit: every product is zero
  bool exact = false;     // BND-10 holds for the dot product, error is 0
  bool overflow = false;  // BND-12: an intermediate may overflow
  bool flushed = false;   // BND-8: an operand may be flushed
};

class DotBounder {
 public:
  DotBounder(const FlatPlan& plan, const AccumulationFormat& format, const Arithmetic& arithmetic);

  std::array<DotBound, kRowBlock> operator()(const RowBlock& rows, const TokenOperand& token) const;

 private:
  struct Sums;

  template <bool kRounded>
  void add_up_chains(const RowBlock& rows, const TokenOperand& token, Sums& sums) const;
  void add_up_any(const RowBlock& rows, const TokenOperand& token, Sums& sums) const;
  double peak_of_row(const RowBlock& rows, const TokenOperand& token, int row, const DotBound& bound) const;
  double terms_of_row(const RowBlock& rows, const TokenOperand& token, int row) const;
  double flushed_of_row(const RowBlock& rows, const TokenOperand& token, int row) const;

  const FlatPlan& plan_;
  AccumulationFormat format_;
  bool any_;             // BND-6 rather than BND-4, BND-5
  bool rounded_;         // BND-7
  double unit_;          // u, inflated by BND-14
  double product_unit_;  // u of a rounded product, 0 where the product is short enough
  double operations_;    // roundings behind a value of E, for round_up
};

}  // namespace moe4
