#include "gpu/ptx/run/global_races.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>

#include "gpu/ptx/run/cluster.h"
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

struct LaneAccess {
  Warp& warp;
  const Instr& instr;
  const Buffer& buffer;
  unsigned lane;
  std::uint64_t offset;
  bool strong;
  bool wide;
  bool pending = false;      // of an asynchronous copy
  bool async_proxy = false;  // … and one that ordinary stores reach through a proxy fence only
  bool cluster = false;      // the scope is the cluster
};

Place place_of_use(const LaneAccess& access, std::uint64_t block, Who who, std::uint32_t instr) {
  const Block& here = *access.warp.block;
  Place place = here.place(instr, who.async() ? 0 : who.warp(), who.async() ? 0 : who.lane());
  place.block = block_of(*access.warp.block->run().launch, block);
  return place;
}

void report_race(const LaneAccess& access, bool wrote, bool other_wrote, std::uint64_t other_block, Who other,
                 std::uint32_t other_instr) {
  Block& block = *access.warp.block;
  if (!block.checks()) return;
  const bool same_block = other_block == block.linear();
  std::string message = std::string(wrote ? "store to" : "load from") + " buffer '" + access.buffer.name +
                        "' offset " + std::to_string(access.offset);
  if (other.epoch() == kPendingEpoch) {
    message += std::string(" while an asynchronous ") + (other_wrote ? "store to it" : "copy from it") +
               " is pending (no wait between)";
  } else {
    message += std::string(" is not ordered with a ") + (other_wrote ? "store" : "load") + " by " +
               (same_block ? "another thread of the block" : "another block");
  }
  Finding* finding = block.report(Check::kGlobalRace, access.warp, instr_index(access.warp, access.instr),
                                  access.lane, std::move(message));
  if (finding == nullptr) return;
  finding->other = place_of_use(access, other_block, other, other_instr);
}

// An ordinary store that an asynchronous copy reads, ordered before, with no proxy fence between.
void check_proxy(const LaneAccess& access, std::uint64_t other_block, Who writer,
                 std::uint32_t writer_instr) {
  Block& block = *access.warp.block;
  if (!block.checks() || !access.async_proxy || writer.several()) return;
  const WarpClocks& clocks = block.shared_races().clocks();
  const unsigned w = access.warp.index;
  const bool fenced = other_block == block.linear()
                          ? clocks.proxied(FencedSpace::kGlobal, writer, w, access.lane)
                          : clocks.proxied(other_block, writer, w, access.lane);
  if (fenced) return;
  Finding* finding = block.report(
      Check::kProxyFence, access.warp, instr_index(access.warp, access.instr), access.lane,
      "load from buffer '" + access.buffer.name + "' offset " + std::to_string(access.offset) +
          " by the asynchronous proxy after an ordinary store, with no fence.proxy.async of global memory "
          "between");
  if (finding != nullptr) finding->other = place_of_use(access, other_block, writer, writer_instr);
}
// Whether an access recorded in a cell is ordered before this one.
bool ordered(const LaneAccess& access, std::uint64_t other_block, Who other) {
  Block& block = *access.warp.block;
  if (access.strong && other.strong() && (access.wide || other_block == block.linear())) return true;
  if (other_block == block.linear()) {
    return !block.checks() || block.shared_races().clocks().ordered(other, access.warp.index, access.lane);
  }
  const bool near = access.cluster && block.cluster() != nullptr && block.cluster()->rank_of(other_block);
  if (near && access.strong && other.strong()) return true;
  return block.checks() &&
         block.shared_races().clocks().ordered(other_block, other, access.warp.index, access.lane);
}

Who myself(const LaneAccess& access) {
  Block& block = *access.warp.block;
  std::uint32_t epoch = block.checks() ? block.shared_races().clocks().epoch(access.warp.index) : 1;
  if (access.pending && block.checks()) epoch = kPendingEpoch;
  return Who::make(epoch, access.strong, access.warp.index, access.lane);
}

void record(GlobalCell::Use& use, const LaneAccess& access, Who who) {
  store(use.who.bits, who.bits);
  store(use.instr, instr_index(access.warp, access.instr));
}

void check_against(const LaneAccess& access, bool wrote, const GlobalCell::Use& use, bool other_wrote) {
  const std::uint32_t block = load(use.block);
  if (block == 0 || block == kManyBlocks) return;
  const Who recorded{load(use.who.bits)};
  if (recorded.nobody()) return;  // a mark that the block was there, no access
  const Who other{recorded.bits & ~Who::kSeveral};
  if (!ordered(access, block - 1, other)) {
    report_race(access, wrote, other_wrote, block - 1, other, load(use.instr));
  } else if (other_wrote && !wrote) {
    check_proxy(access, block - 1, recorded, load(use.instr));
  }
}

bool is_pending(const GlobalCell::Use& use, std::uint32_t block) {
  return load(use.block) == block && Who{load(use.who.bits)}.epoch() == kPendingEpoch;
}

void note_read(const LaneAccess& access, std::uint64_t bytes) {
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
      if (!access.pending && (slot == 0 || !is_pending(cell->readers[1], me)))
        store(cell->readers[slot].block, me);
    }
    check_against(access, false, cell->writer, true);
    // A pending read has the second place, and keeps it.
    if (access.pending) {
      slot = 1;
      store(cell->readers[1].block, me);
    } else if (slot == 1 && is_pending(cell->readers[1], me)) {
      continue;
    }
    record(cell->readers[slot], access, who);
  }
}

void note_write(const LaneAccess& access, std::uint64_t bytes) {
  Run& run = access.warp.block->run();
  const auto me = static_cast<std::uint32_t>(access.warp.block->linear() + 1);
  Who who = myself(access);
  if (access.async_proxy) who.bits |= Who::kSeveral;
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
    note_read({warp, instr, buffer, lane, offset, op.order != Order::kWeak, op.wide, false, false,
               op.cluster_scope},
              bytes);
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
    note_write({warp, instr, buffer, lane, addresses[lane] - buffer.address, strong, op.wide, false, false,
                op.cluster_scope},
               bytes);
  });
}

void note_global_pending(Warp& warp, const Instr& instr, unsigned lane, const GlobalRange& range) {
  const Buffer& buffer = range.buffer;
  if (!warp.block->run().track_global || !buffer.writable() || buffer.race_granule == 0) return;
  const LaneAccess access{warp, instr, buffer,           lane, range.offset, range.strong,
                          true, true,  range.async_proxy};
  range.write ? note_write(access, range.bytes) : note_read(access, range.bytes);
}

void note_map_use(Warp& warp, const Instr& instr, const Buffer& buffer, unsigned lane, std::uint64_t offset,
                  std::uint64_t bytes) {
  if (!warp.block->run().track_global || buffer.race_granule == 0) return;
  note_read({warp, instr, buffer, lane, offset, false, true}, bytes);
}

void for_last_writes(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes,
                     const std::function<void(std::uint64_t, Who, std::uint32_t)>& visit) {
  if (buffer.race_granule == 0) return;
  for (std::uint64_t at = offset; at < offset + bytes; at += buffer.race_granule) {
    const GlobalCell::Use& writer = cell_of(buffer, at)->writer;
    if (const std::uint32_t block = load(writer.block); block != 0 && block != kManyBlocks) {
      visit(block - 1, Who{load(writer.who.bits)}, load(writer.instr));
    }
  }
}

void note_global_complete(Block& block, const GlobalRange& range, unsigned warp, unsigned lane, Who who) {
  const Buffer& buffer = range.buffer;
  if (!block.checks() || !buffer.writable() || buffer.race_granule == 0) return;
  if (range.write) who.bits |= Who::kSeveral;
  const auto me = static_cast<std::uint32_t>(block.linear() + 1);
  const unsigned shift = shift_of(buffer);
  const std::uint64_t last = (range.offset + range.bytes - 1) >> shift;
  for (std::uint64_t i = range.offset >> shift; i <= last; ++i) {
    GlobalCell* cell = cell_of(buffer, i << shift);
    GlobalCell::Use& use = range.write ? cell->writer : cell->readers[1];
    const Who pending{load(use.who.bits)};
    if (is_pending(use, me) && pending.warp() == warp && pending.lane() == lane)
      store(use.who.bits, who.bits);
  }
}

void note_observed(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses) {
  const bool acquires = op.order == Order::kAcquire || op.order == Order::kAcqRel;
  const bool global = target.space == Space::kGlobal;
  const bool wide = warp.block->reaches_out(op.wide, op.cluster_scope);
  for_each_address(addresses, target.lanes, [&](LaneMask lanes, std::uint64_t address) {
    warp.block->observe(warp, lanes, {address, global, target.owner}, acquires, wide);
  });
}

void note_published(Warp& warp, const MemoryOp& op, const Target& target, const std::uint64_t* addresses) {
  const bool releases = op.order == Order::kRelease || op.order == Order::kAcqRel;
  const bool global = target.space == Space::kGlobal;
  const bool wide = warp.block->reaches_out(op.wide, op.cluster_scope);
  for_each_address(addresses, target.lanes, [&](LaneMask lanes, std::uint64_t address) {
    warp.block->publish(warp, lanes, {address, global, target.owner}, releases, wide);
  });
  if (releases) warp.block->shared_races().clocks().advance(warp.index);
}

}  // namespace moe4::ptx
