#include "gpu/ptx/run/memory_checks.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/findings.h"

namespace moe4::ptx {
namespace {

// Pairs of lanes with one address: calls visit(first lane, later lane). Quick when addresses rise with the
// lanes.
template <class Visit>
void for_equal_addresses(const std::uint64_t* addresses, LaneMask mask, const Visit& visit) {
  bool rising = true;
  std::uint64_t before = 0;
  bool first = true;
  for_lanes(mask, [&](unsigned lane) {
    rising = rising && (first || addresses[lane] > before);
    before = addresses[lane];
    first = false;
  });
  if (rising) return;
  const unsigned lowest = first_lane(mask);
  bool equal = true;
  for_lanes(mask, [&](unsigned lane) { equal = equal && addresses[lane] == addresses[lowest]; });
  if (equal) return for_lanes(mask & (mask - 1), [&](unsigned lane) { visit(lowest, lane); });
  std::uint8_t table[64];
  std::fill(table, table + 64, std::uint8_t{0xff});
  for_lanes(mask, [&](unsigned lane) {
    std::uint64_t slot = (addresses[lane] * 0x9e3779b97f4a7c15u) >> 58;
    while (table[slot] != 0xff && addresses[table[slot]] != addresses[lane]) slot = (slot + 1) & 63;
    if (table[slot] == 0xff) {
      table[slot] = static_cast<std::uint8_t>(lane);
    } else {
      visit(table[slot], lane);
    }
  });
}

}  // namespace

void report_shared(Warp& warp, std::uint32_t instr, std::uint64_t address, bool wrote,
                   const SharedRaces::Conflict& conflict, bool formal, Block* owner) {
  using Why = SharedRaces::Conflict::Why;
  Block& block = *warp.block;
  Block& home = owner != nullptr ? *owner : block;
  std::string message = std::string(wrote ? "store to" : "load from") + " shared memory " + hex(address) +
                        block.shared_name(address);
  if (&home != &block) message += " of block " + to_string(home.id());
  std::optional<Place> other;
  Check check = Check::kSharedRace;
  switch (conflict.why) {
    case Why::kPending: {
      const auto pending = home.async().find(static_cast<std::uint32_t>(address), !wrote);
      message += " while an asynchronous ";
      message += pending ? pending->what : conflict.other_wrote ? "write" : "read";
      message += " of it is pending (no wait between)";
      if (pending) other = block.peer(pending->block).place(pending->instr, pending->warp, pending->lane);
      break;
    }
    case Why::kNoFence:
      check = Check::kProxyFence;
      message += " by the asynchronous proxy after an ordinary store, with no fence.proxy.async between";
      break;
    case Why::kUnordered: {
      const bool same_warp = conflict.other_warp == warp.index && conflict.other_block == block.rank();
      message += std::string(" is not ordered with a ") + (conflict.other_wrote ? "store" : "load") + " by ";
      if (conflict.other_block != block.rank()) {
        message += "another block of the cluster (no cluster barrier between)";
      } else {
        message += same_warp ? "another lane of the warp (no warp barrier between)"
                             : "another warp (no barrier between)";
      }
      break;
    }
  }
  Finding* finding = block.report(check, warp, instr, conflict.lane, std::move(message));
  if (finding == nullptr) return;
  finding->formal = formal;
  if (conflict.why != Why::kPending) {
    other = block.peer(conflict.other_block)
                .place(conflict.other_instr, conflict.other_warp, conflict.other_lane);
  }
  finding->other = std::move(other);
}

void hash_addresses(Warp& warp, const std::uint64_t* addresses, LaneMask mask) {
  std::uint64_t sum = 0;
  if (mask == kAllLanes) {
    for (unsigned lane = 0; lane < kLanes; ++lane) sum += addresses[lane] * (2 * lane + 3);
  } else {
    for_lanes(mask, [&](unsigned lane) { sum += addresses[lane] * (2 * lane + 3); });
  }
  hash_path(warp, sum ^ mask);
}

std::uint64_t bank_conflicts(const std::uint64_t* addresses, LaneMask mask, unsigned bytes) {
  // Words of one row of the banks never meet.
  const std::uint64_t row = addresses[first_lane(mask)] >> 7;
  bool one_row = bytes <= 16;
  for_lanes(mask, [&](unsigned lane) { one_row = one_row && addresses[lane] >> 7 == row; });
  if (one_row) return 0;
  // 8 bytes a lane move in two halves of the warp, 16 in four quarters.
  const unsigned parts = bytes <= 4 ? 1 : bytes <= 8 ? 2 : 4;
  const unsigned words = std::max(1u, std::min(bytes, 16u) / 4);
  std::uint64_t extra = 0;
  for (unsigned part = 0; part < parts; ++part) {
    const LaneMask lanes_here =
        mask & ((kAllLanes >> (kLanes - kLanes / parts)) << (part * (kLanes / parts)));
    std::uint32_t banks = 0;
    bool meet = false;
    for_lanes(lanes_here, [&](unsigned lane) {
      for (unsigned w = 0; w < words; ++w) {
        const std::uint32_t bank = std::uint32_t{1} << (((addresses[lane] >> 2) + w) & 31);
        meet = meet || (banks & bank) != 0;
        banks |= bank;
      }
    });
    if (!meet) continue;
    std::uint64_t seen[32][8];
    std::uint8_t count[32] = {};
    std::uint8_t worst = 1;
    for_lanes(lanes_here, [&](unsigned lane) {
      for (unsigned w = 0; w < words; ++w) {
        const std::uint64_t word = (addresses[lane] >> 2) + w;
        const unsigned bank = word & 31;
        bool known = false;
        for (unsigned k = 0; k < std::min<unsigned>(count[bank], 8); ++k)
          known = known || seen[bank][k] == word;
        if (known) continue;
        if (count[bank] < 8) seen[bank][count[bank]] = word;
        worst = std::max(worst, ++count[bank]);
      }
    });
    extra += worst - 1u;
  }
  return extra;
}

LaneMask distinct_lanes(const std::uint64_t* addresses, LaneMask mask, std::uint8_t* second) {
  LaneMask distinct = mask;
  if (second != nullptr) {
    for (unsigned lane = 0; lane < kLanes; ++lane) second[lane] = static_cast<std::uint8_t>(lane);
  }
  for_equal_addresses(addresses, mask, [&](unsigned lane, unsigned later) {
    distinct &= ~(LaneMask{1} << later);
    if (second != nullptr) second[lane] = static_cast<std::uint8_t>(later);
  });
  return distinct;
}

void check_lane_conflicts(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                          const std::uint64_t* addresses) {
  for_equal_addresses(addresses, target.lanes, [&](unsigned lane, unsigned later) {
    for (unsigned i = 0; i < op.count; ++i) {
      const std::byte* from = lanes<std::byte>(warp, warp.function->lists[op.list + i]);
      if (std::memcmp(from + std::size_t{lane} * op.register_bytes,
                      from + std::size_t{later} * op.register_bytes, op.element_bytes) == 0) {
        continue;
      }
      Block& block = *warp.block;
      Finding* finding = block.report(
          target.space == Space::kShared ? Check::kSharedRace : Check::kGlobalRace, warp,
          instr_index(warp, instr), later,
          "two lanes store different values to " + std::string(name_of(target.space)) + " memory " +
              hex(addresses[lane]) + " in one instruction" +
              (target.buffer == nullptr ? std::string()
                                        : " (buffer '" + target.buffer->name + "' offset " +
                                              std::to_string(addresses[lane] - target.origin) + ")"));
      if (finding != nullptr) finding->other = block.place(instr_index(warp, instr), warp.index, lane);
      return;
    }
  });
}

void note_shared_read(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                      const std::uint64_t* addresses) {
  SharedRaces& races = target.owner->shared_races();
  const WarpClocks* peer = &warp.block->shared_races().clocks();
  const std::uint32_t bytes = std::uint32_t{op.element_bytes} * op.count;
  const std::uint32_t at = instr_index(warp, instr);
  const bool strong = op.order != Order::kWeak;
  // Lanes that read the same bytes are looked up once.
  std::uint8_t second[kLanes];
  const LaneMask distinct = distinct_lanes(addresses, target.lanes, second);
  for_lanes(distinct, [&](unsigned lane) {
    SharedRaces::Conflict conflict;
    const auto offset = static_cast<std::uint32_t>(addresses[lane]);
    if (op.used_bytes == ~0ull) {
      if (races.read(warp.index, lane, second[lane], offset, bytes, strong, at, &conflict, peer)) {
        report_shared(warp, instr_index(warp, instr), addresses[lane], false, conflict, false, target.owner);
      }
      return;
    }
    // Only the bytes that the program uses.
    for (std::uint32_t i = 0; i < bytes; ++i) {
      if (((op.used_bytes >> i) & 1) &&
          races.read(warp.index, lane, second[lane], offset + i, 1, strong, at, &conflict, peer)) {
        report_shared(warp, instr_index(warp, instr), addresses[lane] + i, false, conflict, false,
                      target.owner);
      }
    }
  });
}

void note_shared_write(Warp& warp, const Instr& instr, const MemoryOp& op, const Target& target,
                       const std::uint64_t* addresses, bool strong) {
  SharedRaces& races = target.owner->shared_races();
  const WarpClocks* peer = &warp.block->shared_races().clocks();
  const std::uint32_t bytes = std::uint32_t{op.element_bytes} * op.count;
  // Lanes that store to one place in one instruction were compared already: one of them stands for all.
  const LaneMask mask = strong ? target.lanes : distinct_lanes(addresses, target.lanes);
  for_lanes(mask, [&](unsigned lane) {
    SharedRaces::Conflict conflict;
    note_mbarrier_overwritten(warp, instr_index(warp, instr), lane, *target.owner,
                              static_cast<std::uint32_t>(addresses[lane]), bytes);
    if (races.write(warp.index, lane, static_cast<std::uint32_t>(addresses[lane]), bytes, strong,
                    instr_index(warp, instr), &conflict, peer)) {
      report_shared(warp, instr_index(warp, instr), addresses[lane], true, conflict, false, target.owner);
    }
  });
}

void note_matrix_read(Warp& warp, const Instr& instr, const Target& target, const std::uint64_t* addresses,
                      bool transposed) {
  SharedRaces& races = warp.block->shared_races();
  for_lanes(target.lanes, [&](unsigned lane) {
    SharedRaces::Conflict conflict;
    const unsigned reader = transposed ? lane % 8 / 2 : 4 * (lane % 8);
    if (races.read(warp.index, reader, reader + 1, static_cast<std::uint32_t>(addresses[lane]), 16, false,
                   instr_index(warp, instr), &conflict)) {
      report_shared(warp, instr_index(warp, instr), addresses[lane], false, conflict);
    }
  });
}

void note_matrix_write(Warp& warp, const Instr& instr, const Target& target, const std::uint64_t* addresses,
                       bool transposed) {
  SharedRaces& races = warp.block->shared_races();
  for_lanes(target.lanes, [&](unsigned lane) {
    const unsigned row = lane % 8;
    note_mbarrier_overwritten(warp, instr_index(warp, instr), lane, *target.owner,
                              static_cast<std::uint32_t>(addresses[lane]), 16);
    for (unsigned word = 0; word < 4; ++word) {
      SharedRaces::Conflict conflict;
      const unsigned writer = transposed ? 8 * word + row / 2 : 4 * row + word;
      const auto at = static_cast<std::uint32_t>(addresses[lane]) + 4 * word;
      if (races.write(warp.index, writer, at, 4, false, instr_index(warp, instr), &conflict)) {
        report_shared(warp, instr_index(warp, instr), at, true, conflict);
      }
    }
  });
}

}  // namespace moe4::ptx
