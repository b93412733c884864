#include "gpu/ptx/run/global_races.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>

#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

unsigned shift_of(const Buffer& buffer) {
  return static_cast<unsigned>(std::countr_zero(buffer.race_granule));
}

std::uint32_t load(const std::uint32_t& value) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(value)).load(std::memory_order_relaxed);
}
void store(std::uint32_t& to, std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(to).store(value, std::memory_order_relaxed);
}
void publish(std::uint32_t& to, std::uint32_t value) { std::atomic_ref<std::uint32_t>(to).exchange(value); }
std::uint32_t observe(const std::uint32_t& value) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(value)).load();
}

GlobalCell* cell_of(const Buffer& buffer, std::uint64_t offset) {
  return reinterpret_cast<GlobalCell*>(buffer.races.data()) + (offset >> shift_of(buffer));
}

struct Access {
  Warp& warp;
  const Instr& instr;
  const Buffer& buffer;
  unsigned lane;
  std::uint64_t offset;
  bool strong;
  bool wide;
};

void report_race(const Access& access, bool wrote, bool other_wrote, std::uint64_t other_block, Who other,
                 std::uint32_t other_instr) {
  Block& block = *access.warp.block;
  if (!block.checks()) return;
  const bool same_block = other_block == block.linear();
  Finding* finding = block.report(
      Check::kGlobalRace, access.warp, instr_index(access.warp, access.instr), access.lane,
      std::string(wrote ? "store to" : "load from") + " buffer '" + access.buffer.name + "' offset " +
          std::to_string(access.offset) + " is not ordered with a " + (other_wrote ? "store" : "load") +
          " by " + (same_block ? "another thread of the block" : "another block"));
  if (finding == nullptr) return;
  Place place = block.place(other_instr, other.warp(), other.lane());
  const Dim3 grid = block.run().launch->grid;
  place.block = {static_cast<std::uint32_t>(other_block % grid.x),
                 static_cast<std::uint32_t>(other_block / grid.x % grid.y),
                 static_cast<std::uint32_t>(other_block / grid.x / grid.y)};
  finding->other = std::move(place);
}

// Whether an access recorded in a cell is ordered before this one.
bool ordered(const Access& access, std::uint64_t other_block, Who other) {
  Block& block = *access.warp.block;
  if (access.strong && other.strong() && (access.wide || other_block == block.linear())) return true;
  if (other_block == block.linear()) {
    return !block.checks() || block.shared_races().clocks().ordered(other, access.warp.index, access.lane);
  }
  return block.run().sync != nullptr && block.run().sync->ordered(block.linear(), other_block, other);
}

Who myself(const Access& access) {
  Block& block = *access.warp.block;
  const std::uint32_t epoch = block.checks() ? block.shared_races().clocks().epoch(access.warp.index) : 1;
  return Who::make(epoch, access.strong, access.warp.index, access.lane);
}

void record(GlobalCell::Use& use, const Access& access, Who who) {
  store(use.who.bits, who.bits);
  store(use.instr, instr_index(access.warp, access.instr));
}

void check_against(const Access& access, bool wrote, const GlobalCell::Use& use, bool other_wrote) {
  const std::uint32_t block = load(use.block);
  if (block == 0 || block == kManyBlocks) return;
  const Who other{load(use.who.bits)};
  if (!ordered(access, block - 1, other))
    report_race(access, wrote, other_wrote, block - 1, other, load(use.instr));
}

void note_read(const Access& access, std::uint64_t bytes) {
  Run& run = access.warp.block->run();
  const auto me = static_cast<std::uint32_t>(access.warp.block->linear() + 1);
  const Who who = myself(access);
  const unsigned shift = shift_of(access.buffer);
  const std::uint64_t last = (access.offset + bytes - 1) >> shift;
  for (std::uint64_t i = access.offset >> shift; i <= last; ++i) {
    GlobalCell* cell = cell_of(access.buffer, i << shift);
    unsigned slot = 0;
    const std::uint32_t reader = load(cell->readers[0].block);
    if (run.share_check) {
      if (reader != me && reader != kManyBlocks)
        publish(cell->readers[0].block, reader == 0 ? me : kManyBlocks);
      const std::uint32_t writer = observe(cell->writer.block);
      if (writer != 0 && writer != me) run.shared_use.store(true, std::memory_order_relaxed);
    } else {
      // Another block's read stays beside ours, so that a later write by either is compared with the other.
      if (reader != 0 && reader != me && !ordered(access, reader - 1, Who{load(cell->readers[0].who.bits)}))
        slot = 1;
      store(cell->readers[slot].block, me);
    }
    check_against(access, false, cell->writer, true);
    record(cell->readers[slot], access, who);
  }
}

void note_write(const Access& access, std::uint64_t bytes) {
  Run& run = access.warp.block->run();
  const auto me = static_cast<std::uint32_t>(access.warp.block->linear() + 1);
  const Who who = myself(access);
  const unsigned shift = shift_of(access.buffer);
  const std::uint64_t last = (access.offset + bytes - 1) >> shift;
  for (std::uint64_t i = access.offset >> shift; i <= last; ++i) {
    GlobalCell* cell = cell_of(access.buffer, i << shift);
    const std::uint32_t before = load(cell->writer.block);
    if (run.share_check) {
      if (before != me) publish(cell->writer.block, me);
      const std::uint32_t reader = observe(cell->readers[0].block);
      if ((before != 0 && before != me) || (reader != 0 && reader != me)) {
        run.shared_use.store(true, std::memory_order_relaxed);
      }
    }
    if (before != 0) check_against(access, true, cell->writer, true);
    check_against(access, true, cell->readers[0], false);
    check_against(access, true, cell->readers[1], false);
    if (!run.share_check) store(cell->writer.block, me);
    record(cell->writer, access, who);
  }
}

}  // namespace

void start_global_races(Run& run) {
  const unsigned granule = std::clamp(std::bit_floor(run.function->race_granule), 1u, 16u);
  const auto prepare = [&](Buffer& buffer) {
    if (!buffer.writable()) return;
    if (buffer.race_granule == granule && buffer.races.data() != nullptr) {
      buffer.races.clear();
      return;
    }
    buffer.race_granule = granule;
    buffer.races = SparseBytes((buffer.bytes / granule + 1) * sizeof(GlobalCell));
    if (buffer.races.data() == nullptr) buffer.race_granule = 0;
  };
  for (const auto& buffer : run.memory->buffers()) prepare(*buffer);
  if (run.globals != nullptr) prepare(*run.globals);
}

void note_global_read(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                      const std::uint64_t* addresses) {
  const Buffer& buffer = *target.buffer;
  Block& block = *warp.block;
  if (!block.run().track_global || !buffer.writable() || buffer.race_granule == 0) return;
  const std::uint64_t bytes = std::uint64_t{op.element_bytes} * op.count;
  for_lanes(target.lanes, [&](unsigned lane) {
    const std::uint64_t offset = addresses[lane] - buffer.address;
    if (op.non_coherent && block.checks()) {
      const GlobalCell* cell = cell_of(buffer, offset);
      if (load(cell->writer.block) == block.linear() + 1) {
        block.report(Check::kGlobalRace, warp, instr_index(warp, instr), lane,
                     "ld.global.nc of buffer '" + buffer.name + "' offset " + std::to_string(offset) +
                         ", which this launch has written");
      }
    }
    note_read({warp, instr, buffer, lane, offset, op.order != Order::kWeak, op.wide}, bytes);
  });
}

void note_global_write(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                       const std::uint64_t* addresses, bool strong) {
  const Buffer& buffer = *target.buffer;
  if (!warp.block->run().track_global || buffer.race_granule == 0) return;
  const std::uint64_t bytes = std::uint64_t{op.element_bytes} * op.count;
  // Lanes that store to one place in one instruction were compared already: one of them stands for all.
  LaneMask mask = target.lanes;
  if (!strong) mask = distinct_lanes(addresses, mask);
  for_lanes(mask, [&](unsigned lane) {
    note_write({warp, instr, buffer, lane, addresses[lane] - buffer.address, strong, op.wide}, bytes);
  });
}

void note_global_range(Warp& warp, const Instr& instr, const Buffer& buffer, unsigned lane,
                       std::uint64_t offset, std::uint64_t bytes, bool write) {
  if (!warp.block->run().track_global || buffer.race_granule == 0) return;
  write ? note_write({warp, instr, buffer, lane, offset, false, true}, bytes)
        : note_read({warp, instr, buffer, lane, offset, false, true}, bytes);
}

void note_observed(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses) {
  const bool acquires = op.order == Order::kAcquire || op.order == Order::kAcqRel;
  const bool global = target.space == Space::kGlobal;
  for_lanes(target.lanes, [&](unsigned lane) {
    warp.block->observe(warp, {addresses[lane], global}, acquires, op.wide);
  });
}

void note_published(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses) {
  const bool releases = op.order == Order::kRelease || op.order == Order::kAcqRel;
  const bool global = target.space == Space::kGlobal;
  for_lanes(target.lanes, [&](unsigned lane) {
    warp.block->publish(warp, {addresses[lane], global}, releases, op.wide);
  });
}

}  // namespace moe4::ptx
