// Who did what before what, within a block.
//
// Each warp has an epoch, counted up where it lets others go on: at barriers, at warp barriers, at releases.
// A clock (block_clock.h) holds, for each warp of the block, the epoch up to which its accesses are known to
// have happened. What a lane learns or releases alone counts for that lane, until a warp barrier puts the
// lanes in step. Asynchronous operations have agents of their own beside the warps; their epochs count what
// they completed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/ptx/program/program.h"
#include "gpu/ptx/run/block_clock.h"
#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

// The clocks of the warps of a block.
class WarpClocks {
 public:
  // cluster: the numbers of its blocks, of which this is `rank`; none: no cluster.
  void start(unsigned warps, unsigned rank, const std::uint64_t* cluster);
  std::uint32_t epoch(unsigned warp) const { return clocks_[warp].warps[warp]; }
  // Accesses of earlier epochs are known to the whole warp.
  std::uint32_t in_step(unsigned warp) const { return in_step_[warp]; }
  // What all lanes of a warp know.
  BlockClock& clock(unsigned warp) { return clocks_[warp]; }

  // These lanes have seen what somebody released.
  void acquire(const Warp& warp, LaneMask lanes, const BlockClock& from);
  // What these lanes know together, their own accesses included: what their release lets others see.
  BlockClock released(const Warp& warp, LaneMask lanes) const;
  // Some lane knows more than the whole warp, or some lanes were in step without the others.
  bool parted(unsigned warp) const { return lanes_apart_[warp] || !pairs_[warp].empty(); }

  // All lanes that live are in step, and what follows is a new epoch.
  void warp_barrier(const Warp& warp, LaneMask lanes);
  // Once the epochs of a warp are used up, everything counts as ordered.
  void advance(unsigned warp) {
    if (epoch(warp) < kMaxEpoch - 1) {
      ++clocks_[warp].warps[warp];
    } else {
      exhausted_ = true;
    }
  }
  // The next epoch of an agent.
  std::uint32_t advance_agent(unsigned agent) {
    if (agent_epochs_[agent] < kMaxEpoch - 1) return ++agent_epochs_[agent];
    exhausted_ = true;
    return kMaxEpoch - 1;
  }

  // Whether an access happened before what this lane does now; between lanes of one warp, when a warp barrier
  // of both lies between.
  bool ordered(Who before, unsigned warp, unsigned lane) const {
    if (exhausted_) return true;
    if (before.async()) {
      if (clocks_[warp].agents[before.agent()] >= before.epoch()) return true;
    } else if (before.warp() != warp) {
      if (clocks_[warp].warps[before.warp()] >= before.epoch()) return true;
    } else {
      if (before.epoch() == kPendingEpoch) return false;
      if ((before.lane() == lane && !before.several()) || before.epoch() < in_step_[warp]) return true;
      if (!pairs_[warp].empty() && !before.several() &&
          before.epoch() < pairs_[warp][lane * kLanes + before.lane()]) {
        return true;
      }
    }
    return known_to_lane(before, warp, lane);
  }
  // The same for an access of another block.
  bool ordered(std::uint64_t block, Who before, unsigned warp, unsigned lane) const;
  // … for an access of the block of a rank in the cluster.
  bool ordered_in_cluster(unsigned rank, Who before, unsigned warp, unsigned lane) const {
    return rank == rank_ ? ordered(before, warp, lane) : ordered(cluster_[rank], before, warp, lane);
  }
  // Whether the lane knows anything of that block of the cluster: that it has started.
  bool has_met(unsigned rank, unsigned warp, unsigned lane) const {
    const BlockClock* more = own(warp, lane);
    return rank == rank_ || exhausted_ || clocks_[warp].blocks.find(cluster_[rank]) != nullptr ||
           (more != nullptr && more->blocks.find(cluster_[rank]) != nullptr);
  }
  unsigned rank() const { return rank_; }

  // fence.proxy.async of a space by these lanes.
  void proxy_fence(const Warp& warp, LaneMask lanes, FencedSpace space);
  // Whether a proxy fence lies between a write that is ordered before and what the lane does now.
  bool proxied(FencedSpace space, Who writer, unsigned warp, unsigned lane) const;
  bool proxied(std::uint64_t block, Who writer, unsigned warp, unsigned lane) const;  // in global memory

 private:
  struct Fence {
    std::uint32_t epoch = 0;
    LaneMask lanes = 0;
  };
  BlockClock* own(unsigned warp, unsigned lane) const { return own_[warp * kLanes + lane].get(); }
  BlockClock& make_own(unsigned warp, unsigned lane);
  bool known_to_lane(Who before, unsigned warp, unsigned lane) const;
  bool proxied_by(const BlockClock& clock, FencedSpace space, Who writer) const;

  bool exhausted_ = false;
  unsigned rank_ = 0;  // in the cluster
  const std::uint64_t* cluster_ = nullptr;
  std::array<BlockClock, kMaxWarps> clocks_{};
  std::array<std::uint32_t, kAgents> agent_epochs_{};
  std::array<std::array<std::vector<Fence>, kMaxWarps>, 2> fences_;  // of part of a warp, by space
  std::array<std::uint32_t, kMaxWarps> in_step_{};
  std::array<std::vector<std::uint32_t>, kMaxWarps> pairs_;  // [lane][other]: … to this lane, of the other
  // What a lane knows beyond its warp.
  std::array<std::unique_ptr<BlockClock>, kMaxWarps * kLanes> own_;
  std::array<bool, kMaxWarps> lanes_apart_{};  // any of own_
};

}  // namespace moe4::ptx
