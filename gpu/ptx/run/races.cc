#include "gpu/ptx/run/races.h"

#include <algorithm>
#include <bit>

namespace moe4::ptx {
namespace {

constexpr unsigned kSecondLane = 27;  // shift

}  // namespace

void WarpClocks::start(unsigned warps) {
  exhausted_ = false;
  for (unsigned w = 0; w < kMaxWarps; ++w) {
    clocks_[w].fill(0);
    if (w < warps) clocks_[w][w] = 1;
    in_step_[w] = 0;
    pairs_[w].clear();
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

void SharedRaces::start(std::uint32_t bytes, unsigned granule, unsigned warps) {
  shift_ = static_cast<unsigned>(std::countr_zero(granule));
  const std::size_t count = (bytes >> shift_) + 1;
  if (used_ || cells_.size() != count) cells_.assign(count, Cell{});
  used_ = false;
  clocks_.start(warps);
}

bool SharedRaces::read(unsigned warp, unsigned lane, unsigned second, std::uint32_t offset,
                       std::uint32_t bytes, bool strong, std::uint32_t instr, Conflict* conflict) {
  used_ = true;
  Who me = Who::make(clocks_.epoch(warp), strong, warp, lane);
  if (second != lane) me.bits |= Who::kSeveral;
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  bool race = false;
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) {
    Cell& cell = cells_[i];
    if (!cell.writer.nobody() && !(strong && cell.writer.strong())) {
      for (const unsigned reader : {lane, second}) {
        if (clocks_.ordered(cell.writer, warp, reader)) continue;
        *conflict = {reader, cell.writer.warp(), cell.writer.lane(), cell.writer_instr, true};
        race = true;
        break;
      }
    }
    if (cell.readers[0].bits == me.bits || cell.readers[1].bits == me.bits) continue;
    // A slot for each of two warps, so that one of them is not the warp that writes next.
    unsigned slot = 1;
    for (const unsigned k : {0u, 1u}) {
      if (!cell.readers[k].nobody() && cell.readers[k].warp() == warp) {
        slot = k;
        break;
      }
      if (cell.readers[k].nobody() || clocks_.ordered(cell.readers[k], warp, lane)) {
        slot = k;
        if (k == 0 && !cell.readers[1].nobody() && cell.readers[1].warp() == warp) slot = 1;
        break;
      }
    }
    const Who before = cell.readers[slot];
    Who now = me;
    unsigned other = second;
    if (!before.nobody() && before.warp() == warp && second == lane && !clocks_.ordered(before, warp, lane)) {
      // Another lane's read that nothing has ordered yet stays on record beside this one.
      other = before.lane() != lane ? before.lane() : cell.reader_instr[slot] >> kSecondLane;
      if (other != lane) now.bits |= Who::kSeveral;
    }
    cell.readers[slot] = now;
    cell.reader_instr[slot] = instr | (other << kSecondLane);
  }
  return race;
}

bool SharedRaces::write(unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes, bool strong,
                        std::uint32_t instr, Conflict* conflict) {
  used_ = true;
  const Who me = Who::make(clocks_.epoch(warp), strong, warp, lane);
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  bool race = false;
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) {
    Cell& cell = cells_[i];
    if (!cell.writer.nobody() && !(strong && cell.writer.strong()) &&
        !clocks_.ordered(cell.writer, warp, lane)) {
      *conflict = {lane, cell.writer.warp(), cell.writer.lane(), cell.writer_instr, true};
      race = true;
    }
    for (unsigned k = 0; k < 2; ++k) {
      const Who reader = cell.readers[k];
      if (reader.nobody() || (strong && reader.strong()) || clocks_.ordered(reader, warp, lane)) continue;
      const bool itself = reader.warp() == warp && reader.lane() == lane;
      const unsigned other = itself ? cell.reader_instr[k] >> kSecondLane : reader.lane();
      *conflict = {lane, reader.warp(), other, cell.reader_instr[k] & ((1u << kSecondLane) - 1), false};
      race = true;
    }
    cell.writer = me;
    cell.writer_instr = instr;
    cell.readers[0] = cell.readers[1] = Who{};
  }
  return race;
}

void GlobalSync::release(std::uint64_t address, std::uint64_t block, const WarpClock& clock,
                         const Known& known) {
  Known& at = released_[address];
  for (const auto& [other, theirs] : known) join(at[other], theirs);
  join(at[block], clock);
}

const GlobalSync::Known* GlobalSync::released(std::uint64_t address) const {
  const auto found = released_.find(address);
  return found == released_.end() ? nullptr : &found->second;
}

bool GlobalSync::ordered(std::uint64_t block, std::uint64_t other, Who who) const {
  const auto mine = known_.find(block);
  if (mine == known_.end()) return false;
  const auto theirs = mine->second.find(other);
  return theirs != mine->second.end() && theirs->second[who.warp()] >= who.epoch();
}

}  // namespace moe4::ptx
