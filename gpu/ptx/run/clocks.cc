#include "gpu/ptx/run/clocks.h"

#include <algorithm>

namespace moe4::ptx {

void WarpClocks::start(unsigned warps) {
  exhausted_ = false;
  agent_epochs_.fill(0);
  for (unsigned w = 0; w < kMaxWarps; ++w) {
    clocks_[w] = BlockClock{};
    if (w < warps) clocks_[w].warps[w] = 1;
    in_step_[w] = 0;
    pairs_[w].clear();
    fences_[w].clear();
  }
}

void WarpClocks::warp_barrier(const Warp& warp, LaneMask lanes) {
  const unsigned w = warp.index;
  advance(w);
  const std::uint32_t now = epoch(w);
  if ((warp.live & ~lanes) == 0) {
    in_step_[w] = now;
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

void WarpClocks::proxy_fence(const Warp& warp, LaneMask lanes) {
  const unsigned w = warp.index;
  BlockClock& clock = clocks_[w];
  for (unsigned other = 0; other < kMaxWarps; ++other) {
    if (other != w) clock.proxied[other] = std::max(clock.proxied[other], clock.warps[other]);
    clock.proxied_copies[other] = std::max(clock.proxied_copies[other], clock.agents[kCopyAgent + other]);
  }
  const std::uint32_t now = epoch(w);
  if ((warp.live & ~lanes) == 0) {
    clock.proxied[w] = now;
  } else {
    // What the whole warp knows of, and of this epoch what these lanes have done.
    if (in_step_[w] != 0) clock.proxied[w] = std::max(clock.proxied[w], in_step_[w] - 1);
    fences_[w].push_back({now, lanes});
    clock.partly_proxied[w] = now;
  }
  advance(w);
}

bool WarpClocks::proxied(Who writer, unsigned warp) const {
  if (exhausted_) return true;
  const BlockClock& clock = clocks_[warp];
  if (writer.async()) {
    if (writer.agent() >= kMatrixAgent) return true;  // was written by the asynchronous proxy itself
    return clock.proxied_copies[writer.agent()] >= writer.epoch();
  }
  const unsigned w = writer.warp();
  if (clock.proxied[w] >= writer.epoch()) return true;
  for (auto fence = fences_[w].rbegin(); fence != fences_[w].rend(); ++fence) {
    if (fence->epoch < writer.epoch()) break;
    if (fence->epoch <= clock.partly_proxied[w] && ((fence->lanes >> writer.lane()) & 1)) return true;
  }
  return false;
}

}  // namespace moe4::ptx
