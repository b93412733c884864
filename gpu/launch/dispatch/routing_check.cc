#include "gpu/launch/dispatch/routing_check.h"

#include <string_view>
#include <vector>

namespace moe4::gpu {
namespace {

constexpr std::size_t kContiguousTile = 128;

std::string at(std::string_view field, std::size_t index, std::int64_t value, std::string_view rule) {
  return std::string(field) + "[" + std::to_string(index) + "] = " + std::to_string(value) + ": " +
         std::string(rule);
}

std::string prefix_error(const IndexedRouting& routing) {
  const auto bad = [&](std::string_view rule) {
    return "num_tokens_padded = " + std::to_string(routing.num_tokens_padded) + ": " + std::string(rule);
  };
  if (routing.num_tokens_padded < 0) return bad("must not be negative");
  const auto count = static_cast<std::size_t>(routing.num_tokens_padded);
  if (count > routing.sorted_ids.size()) return bad("exceeds the elements of sorted_ids");
  if (routing.num_tokens_padded % routing.block_m != 0) return bad("must be a multiple of block_m");
  if (count / static_cast<std::size_t>(routing.block_m) > routing.expert_ids.size()) {
    return bad("has more blocks than expert_ids has elements");
  }
  return {};
}

std::string block_error(const IndexedRouting& routing, std::size_t block, std::vector<bool>& seen) {
  const std::int32_t expert = routing.expert_ids[block];
  if (expert < 0 || expert >= routing.experts)
    return at("expert_ids", block, expert, "no expert of these weights");
  bool sentinels = false;
  const auto block_m = static_cast<std::size_t>(routing.block_m);
  for (std::size_t place = block * block_m; place < (block + 1) * block_m; ++place) {
    const std::int32_t id = routing.sorted_ids[place];
    if (id < 0) return at("sorted_ids", place, id, "must not be negative");
    if (id >= routing.rows) {
      sentinels = true;
      continue;
    }
    if (sentinels) return at("sorted_ids", place, id, "a row after a sentinel of its block");
    if (seen[static_cast<std::size_t>(id)]) return at("sorted_ids", place, id, "a row named twice");
    seen[static_cast<std::size_t>(id)] = true;
  }
  return {};
}

}  // namespace

std::string indexed_routing_error(const IndexedRouting& routing) {
  if (std::string error = prefix_error(routing); !error.empty()) return error;
  std::vector<bool> seen(static_cast<std::size_t>(routing.rows));
  const auto blocks = static_cast<std::size_t>(routing.num_tokens_padded / routing.block_m);
  for (std::size_t block = 0; block < blocks; ++block) {
    if (std::string error = block_error(routing, block, seen); !error.empty()) return error;
  }
  return {};
}

std::string contiguous_routing_error(std::span<const std::int32_t> m_indices, std::int64_t experts) {
  if (m_indices.size() % kContiguousTile != 0) {
    return "m_indices: " + std::to_string(m_indices.size()) + " rows are no multiple of 128";
  }
  for (std::size_t row = 0; row < m_indices.size(); ++row) {
    const std::int32_t expert = m_indices[row];
    if (expert < -1 || expert >= experts) return at("m_indices", row, expert, "no expert of these weights");
    const std::size_t in_tile = row % kContiguousTile;
    if (in_tile == 0 || expert == -1) continue;
    const std::int32_t before = m_indices[row - 1];
    if (before == -1) return at("m_indices", row, expert, "a row after the padding of its tile");
    if (before != expert) return at("m_indices", row, expert, "a second expert in one tile");
  }
  return {};
}

std::string masked_routing_error(std::span<const std::int32_t> masked_m, std::int64_t max_m,
                                 std::int32_t block_m) {
  for (std::size_t expert = 0; expert < masked_m.size(); ++expert) {
    const std::int64_t rows = masked_m[expert];
    if (rows < 0 || rows > max_m) return at("masked_m", expert, rows, "must be in 0 .. max_m");
    if ((rows + block_m - 1) / block_m * block_m > max_m) {
      return at("masked_m", expert, rows,
                "its last tile of " + std::to_string(block_m) + " rows exceeds max_m");
    }
  }
  return {};
}

}  // namespace moe4::gpu
