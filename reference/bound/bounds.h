// The proved interval of every output of every operation, under a declared arithmetic (docs/spec/bounds.md).
//
// A kernel that rounds where the profile says, and forms each dot product over i in the declared order and
// accumulation, must return a value inside [lo, hi]. The ends are outputs themselves (encodings), so
// lo == hi means: these bits are due.
//
// Every function validates its inputs as the operation does, and refuses what no theorem covers, with an
// Error that names the rule (BND-15, BND-16).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/combine.h"
#include "reference/linear/expert_linear.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"
#include "reference/policy.h"
#include "reference/profile/arithmetic.h"
#include "reference/status.h"

namespace moe4 {

enum class OutputClass : std::uint8_t { kFinite, kNan, kPlusInf, kMinusInf };

struct OutputInterval {
  // The exact sum, taken through the declared weights and rounding points: the norm's bits for the norm's
  // weights and profile `once`.
  std::uint64_t exact = 0;
  std::uint64_t lo = 0;  // encodings in the output dtype; lo <= exact <= hi as numbers
  std::uint64_t hi = 0;
  OutputClass cls = OutputClass::kFinite;  // non-finite by rule LIN-5: judged by class, lo and hi equal exact
  // An intermediate may overflow: Inf or NaN is acceptable besides [lo, hi] (BND-12, BND-13).
  bool may_overflow = false;
  double error = 0;  // how far the number that is rounded last may be from the exact one
};

struct OutputBounds {
  std::int64_t rows = 0;
  std::int64_t out = 0;
  std::vector<OutputInterval> outputs;  // [rows,O]; rows that do not count are zeros that mean nothing
  std::vector<std::uint8_t> written;    // an entry a row, 1 if it counts (RTE-3); empty: all do
  double singleton_share = 0;           // of the outputs that count: with lo == hi and without may_overflow
};

// rows = T. LIN rules; output in the dtype of latent_tokens.
Result<OutputBounds> expert_linear_bounds(const LinearInputs& inputs, const Policy& policy,
                                          const Arithmetic& arithmetic);

// RTE-1 to RTE-12; output in BF16.
Result<OutputBounds> indexed_bounds(const IndexedInputs& inputs, const Policy& policy,
                                    const Arithmetic& arithmetic);
Result<OutputBounds> grouped_contiguous_bounds(const GroupedContiguousInputs& inputs, const Policy& policy,
                                               const Arithmetic& arithmetic);
Result<OutputBounds> grouped_masked_bounds(const GroupedMaskedInputs& inputs, const Policy& policy,
                                           const Arithmetic& arithmetic);

// rows = T. RTE-13 to RTE-15. output: a float dtype (VAL-5). Only profile and ftz of the arithmetic matter.
Result<OutputBounds> combine_bounds(const CombineInputs& inputs, Dtype output, const Policy& policy,
                                    const Arithmetic& arithmetic);

}  // namespace moe4
