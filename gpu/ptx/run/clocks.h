// Who did what before what, within a block.
//
// Each warp has an epoch, counted up where it lets others go on: at barriers, at warp barriers, at releases.
// A clock holds, for each warp of the block, the epoch up to which its accesses are known to have happened.
// Asynchronous operations have agents of their own beside the warps; their epochs count what they completed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gpu/ptx/program/program.h"
#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

inline constexpr unsigned kMaxWarps = 32;
using WarpClock = std::array<std::uint32_t, kMaxWarps>;

inline void join(WarpClock& to, const WarpClock& from) {
  for (unsigned i = 0; i < kMaxWarps; ++i) to[i] = to[i] < from[i] ? from[i] : to[i];
}

// Agents: the copies (cp.async) and the matrix products (wgmma) of each warp, and what completes through each
// mbarrier. More mbarriers than there are agents for share them.
inline constexpr unsigned kCopyAgent = 0, kMatrixAgent = 32, kBarrierAgent = 64, kBarrierAgents = 64;
inline constexpr unsigned kAgents = kBarrierAgent + kBarrierAgents;

// What somebody knows: accesses up to an epoch of each warp and agent; and of the ordinary writes among
// them, those that a proxy fence lies behind, so that the asynchronous proxy (TMA, wgmma) sees them.
struct BlockClock {
  WarpClock warps{};
  std::array<std::uint32_t, kAgents> agents{};
  WarpClock proxied{};         // of the warps
  WarpClock partly_proxied{};  // … by fences of some lanes: WarpClocks::fences_
  WarpClock proxied_copies{};  // of the copy agents
};

inline void join(BlockClock& to, const BlockClock& from) {
  constexpr std::size_t kWords = sizeof(BlockClock) / sizeof(std::uint32_t);
  auto* t = reinterpret_cast<std::uint32_t*>(&to);
  const auto* f = reinterpret_cast<const std::uint32_t*>(&from);
  for (std::size_t i = 0; i < kWords; ++i) t[i] = t[i] < f[i] ? f[i] : t[i];
}

// Who made an access, packed: epoch 19 bits, async 1, several 1, strong 1, warp 5, lane 5. 0: nobody.
struct Who {
  static constexpr std::uint32_t kSeveral = 1u << 11;  // more lanes than the one that is named
  static constexpr std::uint32_t kAsync = 1u << 12;    // an agent in place of warp and lane
  std::uint32_t bits = 0;

  static Who make(std::uint32_t epoch, bool strong, unsigned warp, unsigned lane) {
    return {(epoch << 13) | (strong ? 1u << 10 : 0u) | (warp << 5) | lane};
  }
  static Who make_async(std::uint32_t epoch, unsigned agent) { return {(epoch << 13) | kAsync | agent}; }
  bool nobody() const { return bits == 0; }
  unsigned lane() const { return bits & 31; }
  unsigned warp() const { return (bits >> 5) & 31; }
  bool async() const { return bits & kAsync; }
  unsigned agent() const { return bits & 0x3ff; }
  bool strong() const { return (bits >> 10) & 1; }  // atomic, volatile, relaxed …: no race with its like
  bool several() const { return bits & kSeveral; }
  std::uint32_t epoch() const { return bits >> 13; }
};
inline constexpr std::uint32_t kMaxEpoch = (1u << 19) - 1;

// The clocks of the warps of a block.
class WarpClocks {
 public:
  void start(unsigned warps);
  std::uint32_t epoch(unsigned warp) const { return clocks_[warp].warps[warp]; }
  const BlockClock& clock(unsigned warp) const { return clocks_[warp]; }
  BlockClock& clock(unsigned warp) { return clocks_[warp]; }

  // All lanes that live are in step, and what follows is a new epoch.
  void warp_barrier(const Warp& warp, LaneMask lanes);
  // Once the epochs of a warp are used up, everything counts as ordered.
  void advance(unsigned warp) {
    if (epoch(warp) < kMaxEpoch) {
      ++clocks_[warp].warps[warp];
    } else {
      exhausted_ = true;
    }
  }
  // The next epoch of an agent.
  std::uint32_t advance_agent(unsigned agent) {
    if (agent_epochs_[agent] < kMaxEpoch) return ++agent_epochs_[agent];
    exhausted_ = true;
    return kMaxEpoch;
  }

  // Whether an access happened before what this lane does now; between lanes of one warp, when a warp barrier
  // of both lies between.
  bool ordered(Who before, unsigned warp, unsigned lane) const {
    if (exhausted_) return true;
    if (before.async()) return clocks_[warp].agents[before.agent()] >= before.epoch();
    if (before.warp() != warp) return clocks_[warp].warps[before.warp()] >= before.epoch();
    if ((before.lane() == lane && !before.several()) || before.epoch() < in_step_[warp]) return true;
    return !pairs_[warp].empty() && !before.several() &&
           before.epoch() < pairs_[warp][lane * kLanes + before.lane()];
  }

  // fence.proxy.async by these lanes.
  void proxy_fence(const Warp& warp, LaneMask lanes);
  // Whether a proxy fence lies between a write that is ordered before and what the warp does now.
  bool proxied(Who writer, unsigned warp) const;

 private:
  struct Fence {
    std::uint32_t epoch = 0;
    LaneMask lanes = 0;
  };
  bool exhausted_ = false;
  std::array<BlockClock, kMaxWarps> clocks_{};
  std::array<std::uint32_t, kAgents> agent_epochs_{};
  std::array<std::vector<Fence>, kMaxWarps> fences_;  // of part of a warp
  std::array<std::uint32_t, kMaxWarps> in_step_{};  // accesses of earlier epochs are known to the whole warp
  std::array<std::vector<std::uint32_t>, kMaxWarps> pairs_;  // [lane][other]: … to this lane, of the other
};

}  // namespace moe4::ptx
