#include "gpu/ptx/run/races.h"

#include <algorithm>
#include <bit>

namespace moe4::ptx {
namespace {

constexpr unsigned kSecondLane = 27;  // shift
constexpr std::uint32_t kInstr = (1u << kSecondLane) - 1;

}  // namespace

void SharedRaces::start(std::uint32_t bytes, unsigned granule, unsigned warps) {
  shift_ = static_cast<unsigned>(std::countr_zero(granule));
  const std::size_t count = (bytes >> shift_) + 1;
  if (used_ || cells_.size() != count) cells_.assign(count, Cell{});
  used_ = false;
  clocks_.start(warps);
}

SharedRaces::Conflict SharedRaces::conflict_with_writer(const Cell& cell, unsigned lane) const {
  if (!cell.writer.async()) {
    return {lane, cell.writer.warp(), cell.writer.lane(), cell.writer_instr, true, Conflict::Why::kUnordered};
  }
  return {lane, cell.writer_instr >> kSecondLane, 0, cell.writer_instr & kInstr,
          true, Conflict::Why::kUnordered};
}

SharedRaces::Conflict SharedRaces::conflict_with_reader(const Cell& cell, unsigned slot, unsigned warp,
                                                        unsigned lane) const {
  const Who reader = cell.readers[slot];
  const std::uint32_t instr = cell.reader_instr[slot] & kInstr;
  if (reader.async()) {
    return {lane, reader.agent() % kMaxWarps, 0, instr, false, Conflict::Why::kUnordered};
  }
  const bool itself = reader.warp() == warp && reader.lane() == lane;
  const unsigned other = itself ? cell.reader_instr[slot] >> kSecondLane : reader.lane();
  return {lane, reader.warp(), other, instr, false, Conflict::Why::kUnordered};
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
    if (cell.pending_writes != 0) {
      *conflict = {lane, 0, 0, 0, true, Conflict::Why::kPending};
      race = true;
    }
    if (!cell.writer.nobody() && !(strong && cell.writer.strong())) {
      for (const unsigned reader : {lane, second}) {
        if (clocks_.ordered(cell.writer, warp, reader)) continue;
        *conflict = conflict_with_writer(cell, reader);
        race = true;
        break;
      }
    }
    if (cell.readers[0].bits == me.bits || cell.readers[1].bits == me.bits) continue;
    // A slot for each of two warps, so that one of them is not the warp that writes next.
    unsigned slot = 1;
    for (const unsigned k : {0u, 1u}) {
      if (!cell.readers[k].nobody() && !cell.readers[k].async() && cell.readers[k].warp() == warp) {
        slot = k;
        break;
      }
      if (cell.readers[k].nobody() || clocks_.ordered(cell.readers[k], warp, lane)) {
        slot = k;
        const Who next = cell.readers[1];
        if (k == 0 && !next.nobody() && !next.async() && next.warp() == warp) slot = 1;
        break;
      }
    }
    const Who before = cell.readers[slot];
    Who now = me;
    unsigned other = second;
    if (!before.nobody() && !before.async() && before.warp() == warp && second == lane &&
        !clocks_.ordered(before, warp, lane)) {
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
      *conflict = conflict_with_writer(cell, lane);
      race = true;
    }
    for (unsigned k = 0; k < 2; ++k) {
      const Who reader = cell.readers[k];
      if (reader.nobody() || (strong && reader.strong()) || clocks_.ordered(reader, warp, lane)) continue;
      *conflict = conflict_with_reader(cell, k, warp, lane);
      race = true;
    }
    if (cell.pending_writes != 0 || cell.pending_reads != 0) {
      *conflict = {lane, 0, 0, 0, cell.pending_writes != 0, Conflict::Why::kPending};
      race = true;
    }
    cell.writer = me;
    cell.writer_instr = instr;
    cell.readers[0] = cell.readers[1] = Who{};
  }
  return race;
}

bool SharedRaces::issue(bool writes, unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes,
                        bool async_proxy, Conflict* conflict) {
  used_ = true;
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  bool race = false;
  const auto found = [&](const Conflict& what) {
    // What is not ordered at all is worse than what is not fenced.
    const bool worse = race && conflict->why == Conflict::Why::kNoFence && what.why != conflict->why;
    if (!race || worse) *conflict = what;
    race = true;
  };
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) {
    Cell& cell = cells_[i];
    if (cell.pending_writes != 0 || (writes && cell.pending_reads != 0)) {
      found({lane, 0, 0, 0, cell.pending_writes != 0, Conflict::Why::kPending});
    }
    if (!cell.writer.nobody()) {
      if (!clocks_.ordered(cell.writer, warp, lane)) {
        found(conflict_with_writer(cell, lane));
      } else if (async_proxy && !clocks_.proxied(cell.writer, warp)) {
        Conflict unfenced = conflict_with_writer(cell, lane);
        unfenced.why = Conflict::Why::kNoFence;
        found(unfenced);
      }
    }
    for (unsigned k = 0; writes && k < 2; ++k) {
      if (cell.readers[k].nobody() || clocks_.ordered(cell.readers[k], warp, lane)) continue;
      found(conflict_with_reader(cell, k, warp, lane));
    }
    ++(writes ? cell.pending_writes : cell.pending_reads);
  }
  return race;
}

void SharedRaces::complete(bool writes, Who who, unsigned warp, std::uint32_t offset, std::uint32_t bytes,
                           std::uint32_t instr) {
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) {
    Cell& cell = cells_[i];
    --(writes ? cell.pending_writes : cell.pending_reads);
    if (writes) {
      cell.writer = who;
      cell.writer_instr = who.async() ? instr | (warp << kSecondLane) : instr;
      cell.readers[0] = cell.readers[1] = Who{};
      continue;
    }
    // One slot for the agent or warp itself, else the first that is free.
    const auto same = [&](Who other) {
      return !other.nobody() && other.async() == who.async() &&
             (who.async() ? other.agent() == who.agent() : other.warp() == who.warp());
    };
    const unsigned slot = same(cell.readers[0])                                ? 0
                          : same(cell.readers[1]) || !cell.readers[0].nobody() ? 1
                                                                               : 0;
    cell.readers[slot] = who;
    cell.reader_instr[slot] = instr | (who.lane() << kSecondLane);
  }
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
