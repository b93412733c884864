// Special registers.
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr std::array<std::pair<std::string_view, Special>, 48> kNames{{
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneid},
    {"%warpid", Special::kWarpid},
    {"%nwarpid", Special::kNwarpid},
    {"%smid", Special::kSmid},
    {"%nsmid", Special::kNsmid},
    {"%lanemask_eq", Special::kLanemaskEq},
    {"%lanemask_le", Special::kLanemaskLe},
    {"%lanemask_lt", Special::kLanemaskLt},
    {"%lanemask_ge", Special::kLanemaskGe},
    {"%lanemask_gt", Special::kLanemaskGt},
    {"%clock", Special::kClock},
    {"%clock_hi", Special::kClockHi},
    {"%clock64", Special::kClock64},
    {"%globaltimer", Special::kGlobaltimer},
    {"%globaltimer_lo", Special::kGlobaltimerLo},
    {"%globaltimer_hi", Special::kGlobaltimerHi},
    {"%dynamic_smem_size", Special::kDynamicSmemSize},
    {"%total_smem_size", Special::kTotalSmemSize},
    {"%aggr_smem_size", Special::kTotalSmemSize},
    {"%clusterid.x", Special::kClusterIdX},
    {"%clusterid.y", Special::kClusterIdY},
    {"%clusterid.z", Special::kClusterIdZ},
    {"%nclusterid.x", Special::kNclusterIdX},
    {"%nclusterid.y", Special::kNclusterIdY},
    {"%nclusterid.z", Special::kNclusterIdZ},
    {"%cluster_ctarank", Special::kClusterRank},
    {"%cluster_nctarank", Special::kClusterBlocks},
    {"%cluster_ctaid.x", Special::kClusterBlockX},
    {"%cluster_ctaid.y", Special::kClusterBlockY},
    {"%cluster_ctaid.z", Special::kClusterBlockZ},
    {"%cluster_nctaid.x", Special::kClusterNblockX},
    {"%cluster_nctaid.y", Special::kClusterNblockY},
    {"%cluster_nctaid.z", Special::kClusterNblockZ},
    {"%is_explicit_cluster", Special::kExplicitCluster},
    {"%envreg1", Special::kGridWorkspaceHigh},
    {"%envreg2", Special::kGridWorkspaceLow},
}};

std::uint64_t value_of(Special special, Warp& warp, unsigned lane, std::uint64_t clock) {
  Block& block = *warp.block;
  const Launch& launch = *block.run().launch;
  const Dim3 cluster = block.run().cluster;
  const std::uint32_t thread = warp.index * kLanes + lane;
  switch (special) {
    case Special::kTidX:
      return thread % launch.block.x;
    case Special::kTidY:
      return thread / launch.block.x % launch.block.y;
    case Special::kTidZ:
      return thread / launch.block.x / launch.block.y;
    case Special::kNtidX:
      return launch.block.x;
    case Special::kNtidY:
      return launch.block.y;
    case Special::kNtidZ:
      return launch.block.z;
    case Special::kCtaidX:
      return block.id().x;
    case Special::kCtaidY:
      return block.id().y;
    case Special::kCtaidZ:
      return block.id().z;
    case Special::kNctaidX:
      return launch.grid.x;
    case Special::kNctaidY:
      return launch.grid.y;
    case Special::kNctaidZ:
      return launch.grid.z;
    case Special::kLaneid:
      return lane;
    case Special::kWarpid:
      return warp.index;
    case Special::kNwarpid:
      return block.run().warps;
    case Special::kSmid:
      return block.linear() % 132;
    case Special::kNsmid:
      return 132;
    case Special::kLanemaskEq:
      return LaneMask{1} << lane;
    case Special::kLanemaskLt:
      return (LaneMask{1} << lane) - 1;
    case Special::kLanemaskLe:
      return ((LaneMask{1} << lane) - 1) | (LaneMask{1} << lane);
    case Special::kLanemaskGe:
      return static_cast<LaneMask>(~((LaneMask{1} << lane) - 1));
    case Special::kLanemaskGt:
      return static_cast<LaneMask>(~(((LaneMask{1} << lane) - 1) | (LaneMask{1} << lane)));
    case Special::kClock:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
      return clock;
    case Special::kClockHi:
    case Special::kGlobaltimerHi:
      return clock >> 32;
    case Special::kDynamicSmemSize:
      return launch.dynamic_shared_bytes;
    case Special::kTotalSmemSize:
      return block.run().shared_end - kSharedBase;
    case Special::kClusterIdX:
      return block.id().x / cluster.x;
    case Special::kClusterIdY:
      return block.id().y / cluster.y;
    case Special::kClusterIdZ:
      return block.id().z / cluster.z;
    case Special::kNclusterIdX:
      return launch.grid.x / cluster.x;
    case Special::kNclusterIdY:
      return launch.grid.y / cluster.y;
    case Special::kNclusterIdZ:
      return launch.grid.z / cluster.z;
    case Special::kClusterRank:
      return block.rank();
    case Special::kClusterBlocks:
      return block.run().cluster_blocks;
    case Special::kClusterBlockX:
      return block.id().x % cluster.x;
    case Special::kClusterBlockY:
      return block.id().y % cluster.y;
    case Special::kClusterBlockZ:
      return block.id().z % cluster.z;
    case Special::kClusterNblockX:
      return cluster.x;
    case Special::kClusterNblockY:
      return cluster.y;
    case Special::kClusterNblockZ:
      return cluster.z;
    case Special::kExplicitCluster:
      break;
    case Special::kGridWorkspaceHigh:
      return block.run().grid_workspace >> 32;
    case Special::kGridWorkspaceLow:
      return block.run().grid_workspace & 0xffffffffu;
  }
  return 0;
}

}  // namespace

std::optional<Special> special_named(std::string_view name) {
  for (const auto& [known, special] : kNames) {
    if (known == name && !known.empty()) return special;
  }
  return std::nullopt;
}

unsigned bytes_of_special(Special special) {
  if (special == Special::kExplicitCluster) return 0;  // a predicate
  return special == Special::kClock64 || special == Special::kGlobaltimer ? 8 : 4;
}

void run_special_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  LaneMask& d = warp.predicates[instr.d];
  d = warp.block->run().explicit_cluster ? d | mask : d & ~mask;
}

void run_special(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto special = static_cast<Special>(instr.imm);
  const bool time = special >= Special::kClock && special <= Special::kGlobaltimerHi;
  const std::uint64_t clock = time ? warp.block->read_clock() : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    const std::uint64_t value = value_of(special, warp, lane, clock);
    if (bytes_of_special(special) == 8) {
      lanes<std::uint64_t>(warp, instr.d)[lane] = value;
    } else {
      lanes<std::uint32_t>(warp, instr.d)[lane] = static_cast<std::uint32_t>(value);
    }
  }
}

}  // namespace moe4::ptx
