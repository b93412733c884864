// Calls of a serving layer that cannot be what the caller means (RTE-29, RTE-30): weights packed for another
// operation, arguments of another operation.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "reference/status.h"

namespace moe4 {

enum class ServingOp : std::uint8_t { kIndexed, kGroupedContiguous, kGroupedMasked };

std::string_view name_of(ServingOp op);  // "indexed", "grouped_contiguous", "grouped_masked"

enum class IndexedLayout : std::uint8_t { kMma, kWgmma };

// What a packed weight records of itself. layout matters for kIndexed only.
struct PackedFor {
  ServingOp op = ServingOp::kIndexed;
  IndexedLayout layout = IndexedLayout::kMma;
};

// RTE-29: an error that says "repack" unless the weight is packed for what is needed.
Status check_packed(const PackedFor& packed, const PackedFor& needed);

// The arguments of one call of a layer, by their names in serving stacks.
struct LayerCall {
  // Which of sorted_ids, expert_ids, num_tokens_padded, expert_layout (a masked layer's masked_m), m_indices,
  // tuning_config and block_m are given.
  std::set<std::string, std::less<>> given;
  std::string gemm_type;           // of compute_config; empty: not given
  std::int64_t valid_shape_m = 0;  // must be positive for a masked layer
  bool use_f16_accum = false;
  bool use_batch_invariant = false;
};

// RTE-30: the error names the argument.
Status check_layer_call(ServingOp op, const LayerCall& call);

}  // namespace moe4
