// Checks of a routing that comes from outside, on a copy in host memory. A trusted routing skips them, and
// then nothing is read back from the device, so that a launch can be captured and replayed. Source: the
// contracts of Chord 1f08b1e; docs/spec/routing.md states them, and tests/differential/routing_checks_test.cc
// holds these against the reference's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace moe4::gpu {

struct IndexedRouting {
  std::span<const std::int32_t> sorted_ids;  // its size is the capacity
  std::span<const std::int32_t> expert_ids;
  std::int32_t num_tokens_padded = 0;
  std::int64_t rows = 0;  // M·top_k
  std::int64_t experts = 0;
  std::int32_t block_m = 8;  // a positive multiple of 8
};

// Empty if the routing is what kernels rely on: a padded prefix of whole blocks inside the capacity; in each
// block ids of rows first, then only sentinels (>= rows), one expert inside [0, experts); no row twice.
std::string indexed_routing_error(const IndexedRouting& routing);

// m_indices of grouped_contiguous: whole tiles of 128 rows, each of one expert in [0, experts) with the
// padding (-1) behind its rows.
std::string contiguous_routing_error(std::span<const std::int32_t> m_indices, std::int64_t experts);

// masked_m of grouped_masked: tiles of block_m rows, the last one inside max_m too.
std::string masked_routing_error(std::span<const std::int32_t> masked_m, std::int64_t max_m,
                                 std::int32_t block_m);

}  // namespace moe4::gpu
