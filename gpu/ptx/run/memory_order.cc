// Fences, releases and acquires, as far as the search for races needs them.
#include <bit>

#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

LaneSync& sync_of_lane(WarpSync& sync, unsigned lane) {
  sync.apart = true;
  if (sync.lanes[lane] == nullptr) sync.lanes[lane] = std::make_unique<LaneSync>(sync.whole);
  return *sync.lanes[lane];
}

void see(std::optional<BlockClock>& seen, const BlockClock& clock) {
  if (seen) {
    join(*seen, clock);
  } else {
    seen = clock;
  }
}

}  // namespace

void Block::fence(Warp& warp, LaneMask lanes, bool wide) {
  WarpClocks& clocks = shared_races_.clocks();
  WarpSync& sync = syncs_[warp.index];
  const std::uint32_t epoch = clocks.epoch(warp.index), in_step = clocks.in_step(warp.index);
  const auto pass = [&](LaneSync& own, LaneMask who) {
    if (own.seen) clocks.acquire(warp, who, *own.seen);
    own.seen.reset();
    own.fenced = LaneSync::Fenced{clocks.released(warp, who), epoch, in_step};
    if (wide) own.fenced_wide = own.fenced;
  };
  if ((warp.live & ~lanes) == 0 && !sync.apart && !clocks.parted(warp.index)) {
    pass(sync.whole, lanes);
  } else {
    for_lanes(lanes, [&](unsigned lane) { pass(sync_of_lane(sync, lane), LaneMask{1} << lane); });
  }
  clocks.advance(warp.index);
}

void Block::observe(Warp& warp, LaneMask lanes, const SyncLocation& at, bool acquires, bool wide) {
  BlockClock found;
  bool any = false;
  const Block& home = at.owner != nullptr ? *at.owner : *this;
  if (&home != this && !wide) return;
  if (const auto here = home.released_.find(at.key()); here != home.released_.end()) {
    found = told(here->second, home.linear_, linear_);
    any = true;
  }
  if (at.global && wide && run_.sync != nullptr) {
    if (const OtherBlocks* known = run_.sync->released(at.address)) {
      found.blocks.join(*known);
      any = true;
    }
  }
  if (!any) return;
  WarpSync& sync = syncs_[warp.index];
  if (acquires) {
    shared_races_.clocks().acquire(warp, lanes, found);
  } else if ((warp.live & ~lanes) == 0 && !sync.apart) {
    see(sync.whole.seen, found);
  } else {
    for_lanes(lanes, [&](unsigned lane) { see(sync_of_lane(sync, lane).seen, found); });
  }
}

// A fence of the whole warp lets a lane publish what the others had done when a warp barrier lies between:
// every thread's fence, a barrier, one thread's flag.
BlockClock Block::fenced_by(const Warp& warp, unsigned lane, const LaneSync::Fenced& fenced,
                            bool whole_fence) {
  BlockClock clock = fenced.clock;
  if (!whole_fence || shared_races_.clocks().in_step(warp.index) > fenced.epoch) return clock;
  clock.warps[warp.index] = fenced.in_step == 0 ? 0 : fenced.in_step - 1;
  clock.lanes.raise(warp.index, lane, fenced.epoch);
  return clock;
}

std::optional<BlockClock> Block::fenced_clock(const Warp& warp, LaneMask lanes, bool wide) {
  const WarpSync& sync = syncs_[warp.index];
  const auto of = [wide](const LaneSync& own) -> const auto& { return wide ? own.fenced_wide : own.fenced; };
  if (!sync.apart && (warp.live & ~lanes) == 0) {
    if (!of(sync.whole)) return std::nullopt;
    return of(sync.whole)->clock;
  }
  std::optional<BlockClock> clock;
  for_lanes(lanes, [&](unsigned lane) {
    const bool alone = sync.lanes[lane] != nullptr;
    const std::optional<LaneSync::Fenced>& fenced = of(alone ? *sync.lanes[lane] : sync.whole);
    if (fenced) see(clock, fenced_by(warp, lane, *fenced, !alone));
  });
  return clock;
}

void Block::publish(Warp& warp, LaneMask lanes, const SyncLocation& at, bool releases, bool wide) {
  WarpClocks& clocks = shared_races_.clocks();
  const bool others = at.global && wide && run_.sync != nullptr;
  Block& home = at.owner != nullptr ? *at.owner : *this;
  if (&home != this) {
    // Another block of the cluster: only what reaches beyond this one.
    if (!wide) return;
    const auto clock = arrival_clock(warp, lanes, releases);
    if (clock) join(home.released_[at.key()], told(*clock, linear_, home.linear_));
    return;
  }
  if (releases) {
    const BlockClock clock = clocks.released(warp, lanes);
    join(released_[at.key()], clock);
    if (others) run_.sync->release(at.address, linear_, clock);
    return;
  }
  if (const auto clock = fenced_clock(warp, lanes, false)) join(released_[at.key()], *clock);
  if (!others) return;
  if (const auto clock = fenced_clock(warp, lanes, true)) run_.sync->release(at.address, linear_, *clock);
}

std::optional<BlockClock> Block::arrival_clock(const Warp& warp, LaneMask lanes, bool releases) {
  if (releases) return shared_races_.clocks().released(warp, lanes);
  return fenced_clock(warp, lanes, true);
}

// imm: 1 when the scope reaches other blocks, 2 when it reaches those of the cluster.
void run_fence(Warp& warp, const Instr& instr, LaneMask mask) {
  Block& block = *warp.block;
  if (block.checks()) block.fence(warp, mask, block.reaches_out(instr.imm == 1, instr.imm == 2));
}

}  // namespace moe4::ptx
