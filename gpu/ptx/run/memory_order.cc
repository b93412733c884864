// Fences, releases and acquires, as far as the search for races needs them.
#include <utility>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void join(GlobalSync::Known& to, const GlobalSync::Known& from) {
  for (const auto& [block, clock] : from) ptx::join(to[block], clock);
}

}  // namespace

void Block::fence(Warp& warp, bool wide) {
  WarpClocks& clocks = shared_races_.clocks();
  WarpSync& sync = syncs_[warp.index];
  ptx::join(clocks.clock(warp.index), sync.seen);
  if (wide && run_.sync != nullptr) join(run_.sync->known(linear_), sync.seen_known);
  sync.fenced = clocks.clock(warp.index);
  if (wide) {
    sync.fenced_wide = sync.fenced;
    if (run_.sync != nullptr) sync.fenced_known = run_.sync->known(linear_);
  }
  clocks.advance(warp.index);
}

void Block::observe(Warp& warp, const SyncLocation& at, bool acquires, bool wide) {
  WarpSync& sync = syncs_[warp.index];
  if (const auto found = released_.find(at.key()); found != released_.end()) {
    ptx::join(acquires ? shared_races_.clocks().clock(warp.index) : sync.seen, found->second);
  }
  if (!at.global || !wide || run_.sync == nullptr) return;
  if (const GlobalSync::Known* known = run_.sync->released(at.address)) {
    join(acquires ? run_.sync->known(linear_) : sync.seen_known, *known);
  }
}

void Block::publish(Warp& warp, const SyncLocation& at, bool releases, bool wide) {
  WarpClocks& clocks = shared_races_.clocks();
  const WarpSync& sync = syncs_[warp.index];
  if (releases || sync.fenced) {
    const BlockClock& clock = releases ? std::as_const(clocks.clock(warp.index)) : *sync.fenced;
    const auto [entry, made] = released_.try_emplace(at.key(), clock);
    if (!made) ptx::join(entry->second, clock);
  }
  if (at.global && wide && run_.sync != nullptr) {
    if (releases) {
      run_.sync->release(at.address, linear_, clocks.clock(warp.index).warps, run_.sync->known(linear_));
    } else if (sync.fenced_wide) {
      run_.sync->release(at.address, linear_, sync.fenced_wide->warps, sync.fenced_known);
    }
  }
  if (releases) clocks.advance(warp.index);
}

// imm: 1 when the scope reaches other blocks.
void run_fence(Warp& warp, const Instr& instr, LaneMask) {
  if (warp.block->checks()) warp.block->fence(warp, instr.imm != 0);
}

}  // namespace moe4::ptx
