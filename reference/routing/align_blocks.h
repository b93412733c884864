// The aligner: routes sorted by expert, each expert padded to whole blocks (RTE-33). Builds what `indexed`
// reads, and takes it apart again.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/routing/routes.h"
#include "reference/tensor.h"

namespace moe4 {

struct AlignedRoutes {
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
  std::int64_t block_m = 1;
  std::vector<std::int32_t> sorted_ids;  // n of them are active, capacity tail behind
  std::vector<std::int32_t> expert_ids;
  std::int32_t num_tokens_padded = 0;  // n

  TensorView sorted_ids_view() const {
    return {Dtype::kI32, {static_cast<std::int64_t>(sorted_ids.size())}, sorted_ids.data(), {}};
  }
  TensorView expert_ids_view() const {
    return {Dtype::kI32, {static_cast<std::int64_t>(expert_ids.size())}, expert_ids.data(), {}};
  }
  TensorView num_tokens_padded_view() const { return {Dtype::kI32, {}, &num_tokens_padded, {}}; }
};

// Without a tail: sorted_ids has n entries. Precondition: experts of routes are -1..experts-1, block_m >= 1,
// tokens·top_k <= 2^31-1.
AlignedRoutes align_blocks(const Routes& routes, std::int64_t experts, std::int64_t block_m);

// How many sorted_ids can be needed for any routes of this size.
std::int64_t aligned_capacity(std::int64_t routes, std::int64_t experts, std::int64_t block_m);

// The same with sorted_ids grown to `capacity` entries and expert_ids to as many blocks, filled with what is
// never read.
AlignedRoutes with_tail(AlignedRoutes aligned, std::int64_t capacity, std::int32_t id, std::int32_t expert);

// The inverse: the expert of each route that an active id names, -1 for the others. Precondition: valid by
// RTE-7.
Routes routes_from(const AlignedRoutes& aligned);

}  // namespace moe4
