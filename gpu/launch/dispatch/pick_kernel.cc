#include "gpu/launch/dispatch/pick_kernel.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "gpu/launch/dispatch/grouped_tiling.h"
#include "gpu/launch/dispatch/indexed_tiling.h"

namespace moe4::gpu {
namespace {

// The kernels for packed INT4 weights and the rows of their tiles, ascending within a layout. A wide one
// takes many outputs at once and is for the unswapped tilings of indexed_mma.
struct Candidate {
  std::string_view layout;
  bool wide;
  std::int32_t rows;
  std::string_view name;
};
constexpr Candidate kCandidates[] = {
    {"indexed_wgmma", false, 16, "int4_indexed_wgmma_m16_bf16"},
    {"indexed_wgmma", false, 32, "int4_indexed_wgmma_m32_bf16"},
    {"indexed_wgmma", false, 64, "int4_indexed_wgmma_m64_bf16"},
    {"indexed_wgmma", false, 176, "int4_indexed_wgmma_m176_bf16"},
    {"indexed_mma", false, 24, "int4_indexed_decode_bf16"},
    {"indexed_mma", true, 32, "int4_indexed_wide_m32_bf16"},
    {"indexed_mma", true, 48, "int4_indexed_wide_m48_bf16"},
    {"grouped_contiguous", false, 64, "int4_grouped_contiguous_wgmma_m64_bf16"},
    {"grouped_contiguous", false, 128, "int4_grouped_contiguous_wgmma_m128_bf16"},
    {"grouped_masked", false, 16, "int4_grouped_masked_wgmma_m16_bf16"},
    {"grouped_masked", false, 64, "int4_grouped_masked_wgmma_m64_bf16"},
    {"grouped_masked", false, 128, "int4_grouped_masked_wgmma_m128_bf16"},
};

constexpr std::size_t kMemoised = 4096;  // calls that are remembered at most

std::string refused(std::string_view field, std::int64_t value, std::string_view rule) {
  return std::string(field) + " = " + std::to_string(value) + ": " + std::string(rule);
}

const Variant* variant_named(std::string_view name) {
  const auto all = variants();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Variant& variant) { return variant.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const Variant* variant_for(std::string_view layout, bool wide, std::int32_t block_m) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : kCandidates) {
    if (candidate.layout != layout || candidate.wide != wide) continue;
    if (best == nullptr || best->rows < block_m) best = &candidate;
  }
  return best == nullptr ? nullptr : variant_named(best->name);
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

PickedKernel picked(const PackedWeight& weight, std::int32_t block_m, bool wide) {
  return {variant_for(weight.deployment->layout, wide, block_m), block_m, {}};
}

PickedKernel pick_indexed(const PackedWeight& weight, const Call& call) {
  const IndexedTiling tiling = indexed_tiling(*weight.deployment, weight.shape, call.rows);
  const bool wide = weight.deployment->layout == "indexed_mma" && !tiling.swapped;
  return picked(weight, call.block_m.value_or(tiling.block_m), wide);
}

PickedKernel pick_grouped(const PackedWeight& weight, const Call& call) {
  const std::int64_t rows = std::max<std::int64_t>(call.rows, 1);  // a launch of nothing needs a tile, too
  const ChosenGroupedTiling chosen =
      call.expected_m ? grouped_masked_tiling(weight.shape, *call.expected_m, call.multiprocessors)
                      : grouped_contiguous_tiling(weight.shape, rows, call.multiprocessors);
  if (!chosen.error.empty()) return {nullptr, 0, chosen.error};
  return picked(weight, chosen.tile.block_m, false);
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
