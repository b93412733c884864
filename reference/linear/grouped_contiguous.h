// op=grouped_contiguous: each row of one buffer says its expert (docs/spec/routing.md).
//
//   latent_tokens  BF16  [m,I]
//   weights        expert_weights.h
//   m_indices      I32   [m]     the expert of each row, -1: padding
//   output         BF16  [m,O]   padding rows are not written
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/rows.h"

namespace moe4 {

struct GroupedContiguousInputs {
  TensorView latent_tokens;
  ExpertWeights weights;
  TensorView m_indices;
};

// RTE-16 and RTE-9 without the output. rows = m.
Result<RowDims> validate_grouped_contiguous(const GroupedContiguousInputs& inputs);

// The same validation, with an output if there is one, and the rows that have a value.
Result<RoutedRows> grouped_contiguous_rows(const GroupedContiguousInputs& inputs,
                                           const MutableTensorView* output = nullptr);

// The norm, into memory of the caller; returns `written`. On an Error nothing has been written.
Result<std::vector<std::uint8_t>> grouped_contiguous(const GroupedContiguousInputs& inputs,
                                                     MutableTensorView output, const Policy& policy = {});

// The norm, into a new tensor.
Result<RowsResult> grouped_contiguous(const GroupedContiguousInputs& inputs, const Policy& policy = {});

}  // namespace moe4
