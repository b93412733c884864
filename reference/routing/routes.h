// Routes, and what expert parallelism does to their ids (RTE-32).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/tensor.h"

namespace moe4 {

// The route ids are 0..tokens·top_k-1; route id token·top_k + slot has expert[id], -1: none.
struct Routes {
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
  std::vector<std::int32_t> expert;

  friend bool operator==(const Routes&, const Routes&) = default;
};

// From selected_experts I32 or I64 [T,K]; ids outside 0..experts-1 become -1.
Routes routes_from(const TensorView& selected_experts, std::int64_t experts);

// A map from global ids to the local ids of a rank that has experts first..first+count-1 of `experts`.
std::vector<std::int32_t> expert_map(std::int64_t experts, std::int64_t first, std::int64_t count);
// The global id of each local id: the inverse of a map. Precondition: local ids are 0..n-1, each once.
std::vector<std::int32_t> global_ids(std::span<const std::int32_t> map);

// The same routes by the ids of a rank, -1 where the expert is elsewhere. Precondition: every id is below the
// size of the map.
Routes to_local(const Routes& global, std::span<const std::int32_t> map);
// The inverse on the routes that are local; -1 stays.
Routes to_global(const Routes& local, std::span<const std::int32_t> map);

}  // namespace moe4
