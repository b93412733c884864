// cp.async: copies of 4, 8 or 16 bytes from global to shared memory, in groups of each thread.
#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

// Source bytes of each lane.
void read_sizes(Warp& warp, const Instr& instr, std::uint32_t bytes, std::uint32_t* sizes) {
  std::fill(sizes, sizes + kLanes, bytes);
  if (instr.imm & kCopyIgnoreSource) {
    const LaneMask ignore = warp.predicates[instr.c] ^ (instr.imm & kCopyNegated ? kAllLanes : 0u);
    for_lanes(ignore, [&](unsigned lane) { sizes[lane] = 0; });
  } else if (instr.imm & kCopySourceSize) {
    std::copy_n(lanes<std::uint32_t>(warp, instr.c), kLanes, sizes);
  }
}

}  // namespace

void read_global(Block& block, const Buffer& buffer, std::uint64_t offset, std::span<std::byte> to) {
  if (buffer.writable()) {
    block.run().memory->read(buffer, offset, to);
  } else {
    std::memcpy(to.data(), buffer.host + offset, to.size());
  }
}

void run_copy_async(Warp& warp, const Instr& instr, LaneMask mask) {
  Block& block = *warp.block;
  const std::uint32_t at = instr_index(warp, instr);
  const MemoryOp& from = warp.function->memory_ops[instr.aux];
  const MemoryOp& to = warp.function->memory_ops[instr.aux + 1];
  CopyOp op;
  op.instr = at;
  op.lanes = mask;
  op.bytes = from.element_bytes;
  std::uint32_t sizes[kLanes];
  read_sizes(warp, instr, op.bytes, sizes);
  std::uint64_t addresses[kLanes], destinations[kLanes];
  read_addresses(warp, instr, from, addresses);
  Instr second = instr;
  second.a = instr.b;
  read_addresses(warp, second, to, destinations);
  if (block.checks()) {
    hash_addresses(warp, addresses, mask);
    hash_addresses(warp, destinations, mask);
  }
  LaneMask whole = 0, part = 0;
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if (sizes[lane] > op.bytes) {
      return block.fault(Check::kInvalidOperand, warp, at, lane,
                         "cp.async of " + std::to_string(op.bytes) + " bytes with a source size of " +
                             std::to_string(sizes[lane]));
    }
    op.from_bytes[lane] = sizes[lane];
    (sizes[lane] == op.bytes ? whole : sizes[lane] != 0 ? part : op.landed) |= LaneMask{1} << lane;
  }
  op.landed = 0;
  const auto take = [&](const MemoryOp& access, LaneMask lanes) {
    for (LaneMask left = lanes; left != 0;) {
      Target target;
      if (!next_target(warp, instr, access, false, addresses, &left, &target)) return false;
      block.counters().global_load_bytes +=
          std::uint64_t{access.element_bytes} * static_cast<unsigned>(std::popcount(target.lanes));
      for_lanes(target.lanes, [&](unsigned lane) {
        op.buffer[lane] = target.buffer;
        op.from[lane] = addresses[lane] - target.origin;
      });
    }
    return true;
  };
  if (!take(from, whole)) return;
  for (LaneMask left = part; left != 0; left &= left - 1) {
    // The last byte, then the first: both must be in bounds.
    const unsigned lane = first_lane(left);
    MemoryOp byte = from;
    byte.element_bytes = 1;
    addresses[lane] += sizes[lane] - 1;
    if (!take(byte, LaneMask{1} << lane)) return;
    addresses[lane] -= sizes[lane] - 1;
    if (!take(byte, LaneMask{1} << lane)) return;
  }
  for_lanes(whole | part, [&](unsigned lane) {
    note_global_pending(warp, instr, lane, {*op.buffer[lane], op.from[lane], op.from_bytes[lane]});
  });
  for (LaneMask left = mask; left != 0;) {
    Target target;
    if (!next_target(warp, instr, to, true, destinations, &left, &target)) return;
    const std::uint64_t moved = std::uint64_t{op.bytes} * static_cast<unsigned>(std::popcount(target.lanes));
    block.counters().shared_store_bytes += moved;
    for_lanes(target.lanes, [&](unsigned lane) {
      op.to[lane] = static_cast<std::uint32_t>(destinations[lane]);
      SharedRaces::Conflict conflict;
      if (block.checks()) note_mbarrier_overwritten(warp, at, lane, block, op.to[lane], op.bytes);
      if (block.checks() &&
          block.shared_races().issue(true, warp.index, lane, op.to[lane], op.bytes, false, &conflict)) {
        report_shared(warp, at, destinations[lane], true, conflict);
      }
    });
  }
  block.async().issue(warp, std::move(op));
}

void run_copy_commit(Warp& warp, const Instr&, LaneMask mask) {
  warp.block->async().commit_copies(warp, mask);
}

void run_copy_wait(Warp& warp, const Instr& instr, LaneMask mask) {
  const bool everything = instr.imm & kCopyWaitAll;
  warp.block->async().wait_copies(warp, mask, static_cast<std::uint32_t>(instr.imm), everything);
}

void Async::issue(Warp& warp, CopyOp op) {
  WarpState& state = warps_[warp.index];
  op.group = state.copy_group;
  if (block_.seeded() && !op.arrives && block_.next_random() % 4 == 0) {
    land(op, op.lanes);
    op.landed = op.lanes;
  }
  state.copies.push_back(op);
}

void Async::commit_copies(Warp& warp, LaneMask lanes) {
  for_lanes(lanes, [&](unsigned lane) { ++warps_[warp.index].copy_group[lane]; });
}

void Async::wait_copies(Warp& warp, LaneMask lanes, std::uint32_t allowed, bool everything) {
  WarpState& state = warps_[warp.index];
  std::array<Who, kLanes> who{};
  const std::uint32_t epoch = block_.checks() ? block_.shared_races().clocks().epoch(warp.index) : 1;
  for_lanes(lanes, [&](unsigned lane) { who[lane] = Who::make(epoch, false, warp.index, lane); });
  for (CopyOp& op : state.copies) {
    if (op.arrives) continue;
    LaneMask done = 0;
    for_lanes(lanes & op.lanes, [&](unsigned lane) {
      if (everything || op.group[lane] + allowed < state.copy_group[lane]) done |= LaneMask{1} << lane;
    });
    complete(warp, op, done, who);
  }
  while (!state.copies.empty() && state.copies.front().lanes == 0) state.copies.pop_front();
}

void Async::land(const CopyOp& op, LaneMask lanes) {
  for_lanes(lanes, [&](unsigned lane) {
    std::byte* to = block_.shared() + op.to[lane];
    const std::uint32_t bytes = op.from_bytes[lane];
    if (bytes != 0) read_global(block_, *op.buffer[lane], op.from[lane], {to, bytes});
    std::memset(to + bytes, 0, op.bytes - bytes);
    if (block_.run().taint != nullptr) {
      note_copied(block_, op.to[lane], op.buffer[lane], op.from[lane], bytes, op.bytes);
    }
  });
}

void Async::complete(Warp& warp, CopyOp& op, LaneMask lanes, const std::array<Who, kLanes>& who) {
  if (lanes == 0) return;
  land(op, lanes & ~op.landed);
  op.lanes &= ~lanes;
  if (!block_.checks()) return;
  for_lanes(lanes, [&](unsigned lane) {
    block_.shared_races().complete(true, who[lane], warp.index, op.to[lane], op.bytes, op.instr);
    if (op.from_bytes[lane] == 0) return;
    note_global_complete(block_, {*op.buffer[lane], op.from[lane], op.from_bytes[lane]}, warp.index, lane,
                         who[lane]);
  });
}

}  // namespace moe4::ptx
