// op=indexed: rows named by sorted route ids, one expert a block (docs/spec/routing.md).
//
//   latent_tokens      BF16  [M,I]
//   weights            expert_weights.h
//   sorted_ids         I32   [capacity]   route ids token·top_k + slot; any id >= M·top_k is a sentinel
//   expert_ids         I32   [blocks]     the expert of each block of block_m ids
//   num_tokens_padded  I32   [] or [1]    n, how many of sorted_ids are active
//   output             BF16  [M·top_k,O]  rows that no active id names are not written
// The down projection of a layer has the routed rows as tokens and top_k = 1.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/rows.h"

namespace moe4 {

struct IndexedInputs {
  TensorView latent_tokens;
  ExpertWeights weights;
  TensorView sorted_ids;
  TensorView expert_ids;
  TensorView num_tokens_padded;
  std::int64_t top_k = 1;
  std::int64_t block_m = 1;
  std::int64_t valid_shape_m = 0;  // a hint for kernels; no effect (RTE-6)
};

// RTE-16 and RTE-7 without the output. rows = M·top_k.
Result<RowDims> validate_indexed(const IndexedInputs& inputs);

// The same validation, with an output if there is one, and the rows that have a value.
Result<RoutedRows> indexed_rows(const IndexedInputs& inputs, const MutableTensorView* output = nullptr);

// The norm, into memory of the caller; returns `written`. On an Error nothing has been written.
Result<std::vector<std::uint8_t>> indexed(const IndexedInputs& inputs, MutableTensorView output,
                                          const Policy& policy = {});

// The norm, into a new tensor.
Result<RowsResult> indexed(const IndexedInputs& inputs, const Policy& policy = {});

// The active part of the routing of valid inputs.
struct ActiveIds {
  explicit ActiveIds(const IndexedInputs& inputs);

  std::int64_t count;      // n
  std::int64_t blocks;     // ceil(n/block_m)
  Elements<1> sorted_ids;  // [0,count)
  Elements<1> expert_ids;  // [0,blocks)
};

}  // namespace moe4
