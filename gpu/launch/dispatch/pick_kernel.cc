#include "gpu/launch/dispatch/pick_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <tuple>

#include "gpu/kernels/tiles.h"
#include "gpu/launch/dispatch/grouped_tiling.h"
#include "gpu/launch/dispatch/indexed_tiling.h"

namespace moe4::gpu {
namespace {

// What a rule asks of a kernel's tile.
struct Wanted {
  std::int32_t rows = 0, outputs = 0, depth = 0;
  int slices = 1;
  bool swapped = true;
};

// The tile of the stream-K kernels.
constexpr std::int32_t kStreamRows = PrefillTile64::kRows, kStreamOutputs = PrefillTile64::kOutputs;

constexpr std::size_t kMemoised = 4096;  // calls that are remembered at most

std::string refused(std::string_view field, std::int64_t value, std::string_view rule) {
  return std::string(field) + " = " + std::to_string(value) + ": " + std::string(rule);
}

// Lower is better, the first difference decides: rows that are missing, rows too many, another number of
// outputs, another depth.
using Misfit = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;

Misfit misfit(const TileSizes& tile, const Wanted& wanted) {
  const std::int32_t more = tile.rows - wanted.rows;
  return {std::max(-more, 0), std::max(more, 0), std::abs(tile.outputs - wanted.outputs),
          std::abs(tile.depth - wanted.depth)};
}

const Variant* variant_for(std::string_view layout, const Wanted& wanted) {
  const Variant* best = nullptr;
  for (const Variant& candidate : variants()) {
    if (candidate.layout != layout || candidate.tile.swapped != wanted.swapped ||
        candidate.tile.slices != wanted.slices) {
      continue;
    }
    if (best == nullptr || misfit(candidate.tile, wanted) < misfit(best->tile, wanted)) best = &candidate;
  }
  return best;
}

std::string call_error(const PackedWeight& weight, const Call& call) {
  const Deployment& packed = *weight.deployment;
  if (call.op != packed.op) {
    return "op = " + std::string(call.op) + ": weights are packed for " + std::string(packed.name) + " (" +
           std::string(packed.op) + "): repack";
  }
  if (std::find(packed.capabilities.begin(), packed.capabilities.end(), call.capability) ==
      packed.capabilities.end()) {
    return refused("capability", call.capability, std::string(packed.name) + " does not run there");
  }
  if (call.in != weight.shape.in) {
    return refused("in", call.in, "the weights have " + std::to_string(weight.shape.in) + " inputs");
  }
  if (call.rows < 0) return refused("rows", call.rows, "must not be negative");
  if (call.block_m && call.op != "indexed")
    return refused("block_m", *call.block_m, "is an argument of indexed");
  if (call.block_m && (*call.block_m < 8 || *call.block_m % 8 != 0)) {
    return refused("block_m", *call.block_m, "must be a positive multiple of 8");
  }
  const bool masked = call.op == "grouped_masked";
  if (call.expected_m && !masked)
    return refused("expected_m", *call.expected_m, "is an argument of grouped_masked");
  if (!call.expected_m && masked) return "expected_m: grouped_masked needs it";
  return {};
}

// How many blocks share the inputs of a tile: as many as there is room for when every expert has the last of
// its tiles half empty. A kernel of stream-K has one tile; a call of more rows a block has work enough
// without.
int slices_for(const PackedWeight& weight, const Call& call, const IndexedTiling& tiling,
               std::int32_t block_m) {
  constexpr int kMostSlices = 3;
  if (!tiling.stream_k || weight.deployment->layout != "indexed_wgmma" || block_m > kStreamRows) return 1;
  const std::int64_t row_tiles = call.rows / block_m + std::min(call.rows, weight.shape.experts);
  const std::int64_t tiles = row_tiles * ((weight.shape.out + kStreamOutputs - 1) / kStreamOutputs);
  const std::int64_t blocks = std::int64_t{2} * call.multiprocessors;
  const std::int64_t fit = blocks / std::max<std::int64_t>(tiles, 1);
  return static_cast<int>(std::clamp<std::int64_t>(fit, 1, kMostSlices));
}

PickedKernel pick_indexed(const PackedWeight& weight, const Call& call) {
  const IndexedTiling tiling = indexed_tiling(*weight.deployment, weight.shape, call.rows);
  const std::int32_t block_m = call.block_m.value_or(tiling.block_m);
  // Only the layout of mma.sync has kernels of both kinds.
  const bool swapped = weight.deployment->layout != "indexed_mma" || tiling.swapped;
  const Wanted wanted = {block_m, tiling.block_n, tiling.block_k, slices_for(weight, call, tiling, block_m),
                         swapped};
  return {variant_for(weight.deployment->layout, wanted), block_m, {}};
}

PickedKernel pick_grouped(const PackedWeight& weight, const Call& call) {
  const std::int64_t rows = std::max<std::int64_t>(call.rows, 1);  // a launch of nothing needs a tile, too
  const ChosenGroupedTiling chosen =
      call.expected_m ? grouped_masked_tiling(weight.shape, *call.expected_m, call.multiprocessors)
                      : grouped_contiguous_tiling(weight.shape, rows, call.multiprocessors);
  if (!chosen.error.empty()) return {nullptr, 0, chosen.error};
  const Wanted wanted = {chosen.tile.block_m, chosen.tile.block_n, chosen.tile.block_k};
  return {variant_for(weight.deployment->layout, wanted), chosen.tile.block_m, {}};
}

}  // namespace

PickedKernel pick_kernel(const PackedWeight& weight, const Call& call) {
  if (std::string error = call_error(weight, call); !error.empty()) return {nullptr, 0, std::move(error)};
  using Key = std::tuple<const Deployment*, std::int64_t, std::int64_t, std::int64_t, Capability, int,
                         std::int64_t, std::int32_t, std::int64_t>;
  const WeightShape& shape = weight.shape;
  const Key key{weight.deployment,
                shape.experts,
                shape.out,
                shape.in,
                call.capability,
                call.multiprocessors,
                call.rows,
                call.block_m.value_or(0),
                call.expected_m.value_or(0)};
  static std::mutex mutex;
  static std::map<Key, PickedKernel> memo;
  const std::lock_guard lock(mutex);
  if (memo.size() >= kMemoised) memo.clear();
  const auto [place, is_new] = memo.try_emplace(key);
  if (is_new) place->second = call.op == "indexed" ? pick_indexed(weight, call) : pick_grouped(weight, call);
  return place->second;
}

}  // namespace moe4::gpu
