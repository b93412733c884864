// op=grouped_masked: a block of max_m rows for each expert, the first masked_m[e] of them in use
// (docs/spec/routing.md).
//
//   latent_tokens  BF16  [E,max_m,I] or [E·max_m,I]
//   weights        expert_weights.h
//   masked_m       I32   [E]
//   output         BF16  [E,max_m,O] or [E·max_m,O]   rows from masked_m[e] on are not written
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/rows.h"

namespace moe4 {

struct GroupedMaskedInputs {
  TensorView latent_tokens;
  ExpertWeights weights;
  TensorView masked_m;
  std::int64_t expected_m = 1;  // a hint for kernels; no effect (RTE-10)
};

struct GroupedMaskedDims : RowDims {  // rows = E·max_m
  std::int64_t max_m = 0;
};

// RTE-16, RTE-11 and RTE-12 without the output.
Result<GroupedMaskedDims> validate_grouped_masked(const GroupedMaskedInputs& inputs);

// The same validation, with an output if there is one, and the rows that have a value.
Result<RoutedRows> grouped_masked_rows(const GroupedMaskedInputs& inputs,
                                       const MutableTensorView* output = nullptr);

// The norm, into memory of the caller; returns `written`, row e·max_m + r. On an Error nothing has been
// written.
Result<std::vector<std::uint8_t>> grouped_masked(const GroupedMaskedInputs& inputs, MutableTensorView output,
                                                 const Policy& policy = {});

// The norm, into a new tensor [E,max_m,O].
Result<RowsResult> grouped_masked(const GroupedMaskedInputs& inputs, const Policy& policy = {});

}  // namespace moe4
