#include "gpu/ptx/run/races.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace moe4::ptx {
namespace {

constexpr unsigned kSecondLane = 27;  // shift
constexpr std::uint32_t kInstr = (1u << kSecondLane) - 1;

}  // namespace

void MatrixReads::clear() {
  sets_.assign(1, {});
  last_ = Who{};
  made_.clear();
}

std::uint32_t MatrixReads::with(std::uint32_t set, const MatrixRead& read) {
  if (read.who.bits != last_.bits) made_.clear();
  last_ = read.who;
  const auto [at, is_new] = made_.try_emplace(set, static_cast<std::uint32_t>(sets_.size()));
  if (!is_new) return at->second;
  std::vector<MatrixRead> grown = {read};
  for (const MatrixRead& other : sets_[set]) {
    if (other.who.agent() != read.who.agent()) grown.push_back(other);
  }
  return add(std::move(grown));
}

std::uint32_t MatrixReads::add(std::vector<MatrixRead> set) {
  sets_.push_back(std::move(set));
  return static_cast<std::uint32_t>(sets_.size() - 1);
}

const MatrixRead* SharedRaces::unordered_matrix_read(const Cell& cell, const WarpClocks& clocks,
                                                     unsigned warp, unsigned lane) const {
  if (cell.matrix_readers == 0) return nullptr;
  for (const MatrixRead& read : matrix_reads_[cell.matrix_readers]) {
    if (!clocks.ordered_in_cluster(clocks_.rank(), read.who, warp, lane)) return &read;
  }
  return nullptr;
}

SharedRaces::Conflict SharedRaces::conflict_with(const MatrixRead& read, unsigned lane) const {
  return {lane,          read.who.agent() - kMatrixAgent, 0, read.instr, false, Conflict::Why::kUnordered,
          clocks_.rank()};
}

void SharedRaces::start(std::uint32_t bytes, unsigned granule, unsigned warps, unsigned rank,
                        const std::uint64_t* cluster) {
  shift_ = static_cast<unsigned>(std::countr_zero(granule));
  const std::size_t count = (bytes >> shift_) + 1;
  if (used_ || cells_.size() != count) cells_.assign(count, Cell{});
  used_ = false;
  matrix_reads_.clear();
  clocks_.start(warps, rank, cluster);
}

SharedRaces::Conflict SharedRaces::conflict_with_writer(const Cell& cell, unsigned lane) const {
  Conflict conflict{lane, cell.writer.warp(),       cell.writer.lane(), cell.writer_instr,
                    true, Conflict::Why::kUnordered};
  conflict.other_block = cell.writer_issuer;
  if (!cell.writer.async()) return conflict;
  conflict.other_warp = cell.writer_instr >> kSecondLane;
  conflict.other_lane = 0;
  conflict.other_instr = cell.writer_instr & kInstr;
  return conflict;
}

SharedRaces::Conflict SharedRaces::conflict_with_reader(const Cell& cell, unsigned slot, unsigned warp,
                                                        unsigned lane, unsigned rank) const {
  const Who reader = cell.readers[slot];
  const std::uint32_t instr = cell.reader_instr[slot] & kInstr;
  const bool itself = reader.warp() == warp && reader.lane() == lane && cell.reader_block[slot] == rank;
  const unsigned other = itself ? cell.reader_instr[slot] >> kSecondLane : reader.lane();
  return {lane, reader.warp(), other, instr, false, Conflict::Why::kUnordered, cell.reader_block[slot]};
}

bool SharedRaces::read(unsigned warp, unsigned lane, unsigned second, std::uint32_t offset,
                       std::uint32_t bytes, bool strong, std::uint32_t instr, Conflict* conflict,
                       const WarpClocks* peer) {
  used_ = true;
  const WarpClocks& clocks = peer != nullptr ? *peer : clocks_;
  const unsigned rank = clocks.rank();
  Who me = Who::make(clocks.epoch(warp), strong, warp, lane);
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
        if (clocks.ordered_in_cluster(cell.writer_block, cell.writer, warp, reader)) continue;
        *conflict = conflict_with_writer(cell, reader);
        race = true;
        break;
      }
    }
    const auto this_warp = [&](unsigned k) {
      const Who reader = cell.readers[k];
      return !reader.nobody() && reader.warp() == warp && cell.reader_block[k] == rank;
    };
    if ((cell.readers[0].bits == me.bits && this_warp(0)) ||
        (cell.readers[1].bits == me.bits && this_warp(1)))
      continue;
    // A slot for each of two warps, so that one of them is not the warp that writes next.
    unsigned slot = 1;
    for (const unsigned k : {0u, 1u}) {
      if (this_warp(k)) {
        slot = k;
        break;
      }
      if (cell.readers[k].nobody() ||
          clocks.ordered_in_cluster(cell.reader_block[k], cell.readers[k], warp, lane)) {
        slot = k;
        if (k == 0 && this_warp(1)) slot = 1;
        break;
      }
    }
    const Who before = cell.readers[slot];
    Who now = me;
    unsigned other = second;
    if (this_warp(slot) && second == lane && !clocks.ordered(before, warp, lane)) {
      // Another lane's read that nothing has ordered yet stays on record beside this one.
      other = before.lane() != lane ? before.lane() : cell.reader_instr[slot] >> kSecondLane;
      if (other != lane) now.bits |= Who::kSeveral;
    }
    cell.readers[slot] = now;
    cell.reader_block[slot] = static_cast<std::uint8_t>(rank);
    cell.reader_instr[slot] = instr | (other << kSecondLane);
  }
  return race;
}

bool SharedRaces::write(unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes, bool strong,
                        std::uint32_t instr, Conflict* conflict, const WarpClocks* peer) {
  used_ = true;
  const WarpClocks& clocks = peer != nullptr ? *peer : clocks_;
  const unsigned rank = clocks.rank();
  const Who me = Who::make(clocks.epoch(warp), strong, warp, lane);
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  bool race = false;
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) {
    Cell& cell = cells_[i];
    if (!cell.writer.nobody() && !(strong && cell.writer.strong()) &&
        !clocks.ordered_in_cluster(cell.writer_block, cell.writer, warp, lane)) {
      *conflict = conflict_with_writer(cell, lane);
      race = true;
    }
    for (unsigned k = 0; k < 2; ++k) {
      const Who reader = cell.readers[k];
      if (reader.nobody() || (strong && reader.strong()) ||
          clocks.ordered_in_cluster(cell.reader_block[k], reader, warp, lane)) {
        continue;
      }
      *conflict = conflict_with_reader(cell, k, warp, lane, rank);
      race = true;
    }
    if (const MatrixRead* read = unordered_matrix_read(cell, clocks, warp, lane)) {
      *conflict = conflict_with(*read, lane);
      race = true;
    }
    if (cell.pending_writes != 0 || cell.pending_reads != 0) {
      *conflict = {lane, 0, 0, 0, cell.pending_writes != 0, Conflict::Why::kPending};
      race = true;
    }
    cell.writer = me;
    cell.writer_instr = instr;
    cell.writer_block = cell.writer_issuer = static_cast<std::uint8_t>(rank);
    cell.readers[0] = cell.readers[1] = Who{};
    cell.matrix_readers = 0;
  }
  return race;
}

bool SharedRaces::issue(bool writes, unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes,
                        bool async_proxy, Conflict* conflict, const WarpClocks* peer) {
  used_ = true;
  const WarpClocks& clocks = peer != nullptr ? *peer : clocks_;
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
      if (!clocks.ordered_in_cluster(cell.writer_block, cell.writer, warp, lane)) {
        found(conflict_with_writer(cell, lane));
      } else if (async_proxy && cell.writer_block == clocks.rank() &&
                 !clocks.proxied(FencedSpace::kShared, cell.writer, warp, lane)) {
        // Proxy fences of shared memory are followed within a block.
        Conflict unfenced = conflict_with_writer(cell, lane);
        unfenced.why = Conflict::Why::kNoFence;
        found(unfenced);
      }
    }
    for (unsigned k = 0; writes && k < 2; ++k) {
      if (cell.readers[k].nobody() ||
          clocks.ordered_in_cluster(cell.reader_block[k], cell.readers[k], warp, lane)) {
        continue;
      }
      found(conflict_with_reader(cell, k, warp, lane, clocks.rank()));
    }
    if (const MatrixRead* read = writes ? unordered_matrix_read(cell, clocks, warp, lane) : nullptr) {
      found(conflict_with(*read, lane));
    }
    ++(writes ? cell.pending_writes : cell.pending_reads);
  }
  return race;
}

void SharedRaces::complete(bool writes, Who who, unsigned warp, std::uint32_t offset, std::uint32_t bytes,
                           std::uint32_t instr, std::optional<unsigned> issuer) {
  if (matrix_reads_.full()) {
    // Only the sets that cells still have are kept.
    MatrixReads fresh;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers{{0, 0}};
    for (Cell& cell : cells_) {
      const auto [at, is_new] = numbers.try_emplace(cell.matrix_readers, 0);
      if (is_new) at->second = fresh.add(matrix_reads_[cell.matrix_readers]);
      cell.matrix_readers = at->second;
    }
    matrix_reads_ = std::move(fresh);
  }
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) {
    Cell& cell = cells_[i];
    --(writes ? cell.pending_writes : cell.pending_reads);
    if (writes) {
      cell.writer = who;
      cell.writer_block = static_cast<std::uint8_t>(clocks_.rank());
      cell.writer_issuer = static_cast<std::uint8_t>(issuer.value_or(clocks_.rank()));
      cell.writer_instr = who.async() ? instr | (warp << kSecondLane) : instr;
      cell.readers[0] = cell.readers[1] = Who{};
      cell.matrix_readers = 0;
      continue;
    }
    if (who.async()) {
      cell.matrix_readers = matrix_reads_.with(cell.matrix_readers, {who, instr});
      continue;
    }
    // One slot for the warp itself, else the first that is free.
    const auto same = [&](unsigned k) {
      return !cell.readers[k].nobody() && cell.readers[k].warp() == who.warp() &&
             cell.reader_block[k] == clocks_.rank();
    };
    const unsigned slot = same(0) ? 0 : same(1) || !cell.readers[0].nobody() ? 1 : 0;
    cell.reader_block[slot] = static_cast<std::uint8_t>(clocks_.rank());
    cell.readers[slot] = who;
    cell.reader_instr[slot] = instr | (who.lane() << kSecondLane);
  }
}

void SharedRaces::end_read(std::uint32_t offset, std::uint32_t bytes) {
  const std::uint32_t last = (offset + bytes - 1) >> shift_;
  for (std::uint32_t i = offset >> shift_; i <= last; ++i) --cells_[i].pending_reads;
}

void GlobalSync::release(std::uint64_t address, std::uint64_t block, const BlockClock& from) {
  OtherBlocks& at = released_[address];
  at.join(from.blocks);
  const auto global = static_cast<std::size_t>(FencedSpace::kGlobal);
  at.join(block, {from.warps, from.proxied[global].warps, from.lanes});
}

const OtherBlocks* GlobalSync::released(std::uint64_t address) const {
  const auto found = released_.find(address);
  return found == released_.end() ? nullptr : &found->second;
}

}  // namespace moe4::ptx
