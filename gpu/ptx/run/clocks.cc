#include "gpu/ptx/run/clocks.h"

#include <algorithm>
#include <bit>

namespace moe4::ptx {
namespace {

// Runs body(lane) for each lane of the mask.
template <class Body>
void each_lane(LaneMask lanes, const Body& body) {
  for (; lanes != 0; lanes &= lanes - 1) body(static_cast<unsigned>(std::countr_zero(lanes)));
}

void raise(std::uint32_t& to, std::uint32_t epoch) { to = std::max(to, epoch); }

}  // namespace

void WarpClocks::start(unsigned warps, unsigned rank, const std::uint64_t* cluster) {
  exhausted_ = false;
  rank_ = rank;
  cluster_ = cluster;
  agent_epochs_.fill(0);
  for (unsigned w = 0; w < kMaxWarps; ++w) {
    clocks_[w] = BlockClock{};
    if (w < warps) clocks_[w].warps[w] = 1;
    in_step_[w] = 0;
    pairs_[w].clear();
    for (auto& fences : fences_) fences[w].clear();
    for (unsigned lane = 0; lanes_apart_[w] && lane < kLanes; ++lane) own_[w * kLanes + lane].reset();
    lanes_apart_[w] = false;
  }
}

BlockClock& WarpClocks::make_own(unsigned warp, unsigned lane) {
  lanes_apart_[warp] = true;
  std::unique_ptr<BlockClock>& own = own_[warp * kLanes + lane];
  if (own == nullptr) own = std::make_unique<BlockClock>();
  return *own;
}

void WarpClocks::acquire(const Warp& warp, LaneMask lanes, const BlockClock& from) {
  const unsigned w = warp.index;
  if ((warp.live & ~lanes) != 0) {
    each_lane(lanes, [&](unsigned lane) { join(make_own(w, lane), from); });
    return;
  }
  // What the warp itself had released comes back to all of its lanes.
  in_step_[w] = std::max(in_step_[w], from.warps[w] + 1);
  join(clocks_[w], from);
}

BlockClock WarpClocks::released(const Warp& warp, LaneMask lanes) const {
  const unsigned w = warp.index;
  BlockClock clock = clocks_[w];
  const bool whole = (warp.live & ~lanes) == 0;
  if (whole && !lanes_apart_[w]) return clock;
  if (!whole) {
    clock.warps[w] = in_step_[w] == 0 ? 0 : in_step_[w] - 1;
    each_lane(lanes, [&](unsigned lane) {
      clock.lanes.raise(w, lane, epoch(w));
      for (const FencedSpace space : kFencedSpaces) {
        const std::vector<Fence>& fences = fences_[static_cast<std::size_t>(space)][w];
        const auto last = std::find_if(fences.rbegin(), fences.rend(),
                                       [&](const Fence& fence) { return (fence.lanes >> lane) & 1; });
        if (last != fences.rend()) clock.lanes.raise_proxied(space, w, lane, last->epoch);
      }
      for (unsigned other = 0; other < kLanes && !pairs_[w].empty(); ++other) {
        const std::uint32_t known = pairs_[w][lane * kLanes + other];
        if (known > in_step_[w]) clock.lanes.raise(w, other, known - 1);
      }
    });
  }
  each_lane(lanes, [&](unsigned lane) {
    if (const BlockClock* more = own(w, lane)) join(clock, *more);
  });
  return clock;
}

bool WarpClocks::known_to_lane(Who before, unsigned warp, unsigned lane) const {
  if (before.epoch() == kPendingEpoch) return false;
  const LaneEpochs& lanes = clocks_[warp].lanes;
  if (!before.async() && !lanes.empty() && lanes.knows(before)) return true;
  const BlockClock* more = lanes_apart_[warp] ? own(warp, lane) : nullptr;
  return more != nullptr && more->knows(before);
}

bool WarpClocks::ordered(std::uint64_t block, Who before, unsigned warp, unsigned lane) const {
  if (exhausted_) return true;
  if (before.epoch() == kPendingEpoch) return false;
  if (before.async()) return true;  // agents are not followed beyond their block
  if (clocks_[warp].blocks.knows(block, before)) return true;
  const BlockClock* more = own(warp, lane);
  return more != nullptr && more->blocks.knows(block, before);
}

void WarpClocks::warp_barrier(const Warp& warp, LaneMask lanes) {
  const unsigned w = warp.index;
  advance(w);
  const std::uint32_t now = epoch(w);
  const bool whole = (warp.live & ~lanes) == 0;
  if (lanes_apart_[w]) {
    BlockClock together;
    each_lane(lanes, [&](unsigned lane) {
      if (const BlockClock* more = own(w, lane)) join(together, *more);
    });
    if (whole) {
      join(clocks_[w], together);
      for (unsigned lane = 0; lane < kLanes; ++lane) own_[w * kLanes + lane].reset();
      lanes_apart_[w] = false;
    } else {
      each_lane(lanes, [&](unsigned lane) { make_own(w, lane) = together; });
    }
  }
  if (whole) {
    in_step_[w] = now;
    pairs_[w].clear();
    return;
  }
  std::vector<std::uint32_t>& pairs = pairs_[w];
  if (pairs.empty()) pairs.assign(kLanes * kLanes, 0);
  // Each lane learns what the others of the barrier know, then all of their own accesses.
  for (unsigned other = 0; other < kLanes; ++other) {
    std::uint32_t most = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane) & 1) most = std::max(most, pairs[lane * kLanes + other]);
    }
    if ((lanes >> other) & 1) most = now;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane) & 1) pairs[lane * kLanes + other] = most;
    }
  }
}

void WarpClocks::proxy_fence(const Warp& warp, LaneMask lanes, FencedSpace space) {
  const unsigned w = warp.index;
  const auto at = static_cast<std::size_t>(space);
  // All that is known of others, by the warp and by its lanes.
  const auto fence = [&](BlockClock& clock) {
    for (unsigned other = 0; other < kMaxWarps; ++other) {
      if (other != w) raise(clock.proxied[at].warps[other], clock.warps[other]);
      if (space == FencedSpace::kShared) raise(clock.proxied_copies[other], clock.agents[kCopyAgent + other]);
    }
    clock.lanes.proxy_fence(space);
    if (space == FencedSpace::kGlobal) clock.blocks.proxy_fence();
  };
  BlockClock& clock = clocks_[w];
  fence(clock);
  each_lane(lanes_apart_[w] ? lanes : 0, [&](unsigned lane) {
    if (BlockClock* more = own(w, lane)) fence(*more);
  });
  const std::uint32_t now = epoch(w);
  if ((warp.live & ~lanes) == 0) {
    clock.proxied[at].warps[w] = now;
  } else {
    // What the whole warp knows of, and of this epoch what these lanes have done.
    if (in_step_[w] != 0) raise(clock.proxied[at].warps[w], in_step_[w] - 1);
    fences_[at][w].push_back({now, lanes});
    clock.proxied[at].partly[w] = now;
  }
  advance(w);
}

bool WarpClocks::proxied(FencedSpace space, Who writer, unsigned warp, unsigned lane) const {
  if (exhausted_ || proxied_by(clocks_[warp], space, writer)) return true;
  const BlockClock* more = own(warp, lane);
  return more != nullptr && proxied_by(*more, space, writer);
}

bool WarpClocks::proxied(std::uint64_t block, Who writer, unsigned warp, unsigned lane) const {
  if (exhausted_ || clocks_[warp].blocks.proxied(block, writer)) return true;
  const BlockClock* more = own(warp, lane);
  return more != nullptr && more->blocks.proxied(block, writer);
}

bool WarpClocks::proxied_by(const BlockClock& clock, FencedSpace space, Who writer) const {
  const auto at = static_cast<std::size_t>(space);
  if (writer.async()) {
    if (writer.agent() >= kMatrixAgent) return true;  // was written by the asynchronous proxy itself
    return clock.proxied_copies[writer.agent()] >= writer.epoch();
  }
  const unsigned w = writer.warp();
  if (clock.proxied[at].warps[w] >= writer.epoch() || clock.lanes.proxied(space, writer)) return true;
  for (auto fence = fences_[at][w].rbegin(); fence != fences_[at][w].rend(); ++fence) {
    if (fence->epoch < writer.epoch()) break;
    if (fence->epoch <= clock.proxied[at].partly[w] && ((fence->lanes >> writer.lane()) & 1)) return true;
  }
  return false;
}

}  // namespace moe4::ptx
