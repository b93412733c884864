// ld and st.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/handlers.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

// E: bytes in memory, R: bytes of the register.
template <class E, class R>
void load_lanes(const Target& target, const std::uint64_t* addresses, unsigned offset, R* to) {
  if (target.lanes == kAllLanes && target.lane_stride == 0) {
    const std::byte* base = target.host - target.origin + offset;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      E value;
      std::memcpy(&value, base + addresses[lane], sizeof(E));
      to[lane] = static_cast<R>(value);
    }
    return;
  }
  for_lanes(target.lanes, [&](unsigned lane) {
    E value;
    std::memcpy(&value, target.at(addresses[lane], lane) + offset, sizeof(E));
    to[lane] = static_cast<R>(value);
  });
}

struct Sixteen {
  std::uint64_t low, high;
};

using LoadLanes = void (*)(const Target&, const std::uint64_t*, unsigned, void*);

template <class E, class R>
void load_erased(const Target& target, const std::uint64_t* addresses, unsigned offset, void* to) {
  load_lanes<E, R>(target, addresses, offset, static_cast<R*>(to));
}

LoadLanes loader(const MemoryOp& op) {
  const bool s = op.sign_extend;
  switch (op.element_bytes * 32u + op.register_bytes) {
    case 1 * 32 + 1:
      return &load_erased<std::uint8_t, std::uint8_t>;
    case 1 * 32 + 2:
      return s ? &load_erased<std::int8_t, std::int16_t> : &load_erased<std::uint8_t, std::uint16_t>;
    case 1 * 32 + 4:
      return s ? &load_erased<std::int8_t, std::int32_t> : &load_erased<std::uint8_t, std::uint32_t>;
    case 1 * 32 + 8:
      return s ? &load_erased<std::int8_t, std::int64_t> : &load_erased<std::uint8_t, std::uint64_t>;
    case 2 * 32 + 2:
      return &load_erased<std::uint16_t, std::uint16_t>;
    case 2 * 32 + 4:
      return s ? &load_erased<std::int16_t, std::int32_t> : &load_erased<std::uint16_t, std::uint32_t>;
    case 2 * 32 + 8:
      return s ? &load_erased<std::int16_t, std::int64_t> : &load_erased<std::uint16_t, std::uint64_t>;
    case 4 * 32 + 4:
      return &load_erased<std::uint32_t, std::uint32_t>;
    case 4 * 32 + 8:
      return s ? &load_erased<std::int32_t, std::int64_t> : &load_erased<std::uint32_t, std::uint64_t>;
    case 8 * 32 + 8:
      return &load_erased<std::uint64_t, std::uint64_t>;
    default:
      return nullptr;
  }
}

// Lanes whose page of an output was never touched read poison.
LaneMask missing_pages(const Memory::Impl& memory, const Target& target, const std::uint64_t* addresses) {
  LaneMask missing = 0;
  for_lanes(target.lanes, [&](unsigned lane) {
    if (!memory.exists(*target.buffer, addresses[lane] - target.origin)) missing |= LaneMask{1} << lane;
  });
  return missing;
}

void load_poison(Block& block, const MemoryOp& op, LaneMask mask, std::byte* to) {
  std::array<std::byte, 16> pattern;
  pattern.fill(block.run().options->poison);
  const bool negative = op.sign_extend && (std::to_integer<unsigned>(pattern[0]) & 0x80) != 0;
  if (op.register_bytes > op.element_bytes) {
    std::fill(pattern.begin() + op.element_bytes, pattern.end(), negative ? std::byte{0xFF} : std::byte{0});
  }
  for_lanes(mask, [&](unsigned lane) {
    std::memcpy(to + std::size_t{lane} * op.register_bytes, pattern.data(), op.register_bytes);
  });
}

// A parameter by name: one value for all lanes.
bool load_uniform(Warp& warp, const Instr& instr, const MemoryOp& op, LaneMask mask) {
  if (op.space != Space::kParam || op.register_address || mask != kAllLanes || op.element_bytes > 8)
    return false;
  const std::vector<std::byte>& parameters = warp.block->run().launch->parameters;
  const auto at = static_cast<std::uint64_t>(op.offset);
  const unsigned bytes = unsigned{op.element_bytes} * op.count;
  if (at > parameters.size() || parameters.size() - at < bytes || at % bytes != 0) return false;
  Target target;
  target.host = const_cast<std::byte*>(parameters.data());
  target.lanes = mask;
  std::uint64_t addresses[kLanes];
  std::fill(addresses, addresses + kLanes, at);
  const LoadLanes load = loader(op);
  for (unsigned i = 0; i < op.count; ++i) {
    load(target, addresses, i * op.element_bytes, lanes<std::byte>(warp, warp.function->lists[op.list + i]));
  }
  static_cast<void>(instr);
  return true;
}

}  // namespace

void run_load(Warp& warp, const Instr& instr, LaneMask mask) {
  const MemoryOp& op = warp.function->memory_ops[instr.aux];
  if (load_uniform(warp, instr, op, mask)) return;
  Block& block = *warp.block;
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  if (block.checks() && op.register_address) hash_addresses(warp, addresses, mask);
  if (op.order != Order::kWeak) {
    warp.polled = true;
    block.may_preempt(warp);
  }
  const unsigned bytes = unsigned{op.element_bytes} * op.count;
  const LoadLanes load = loader(op);
  LaneMask left = mask;
  while (left != 0) {
    Target target;
    if (!next_target(warp, instr, op, false, addresses, &left, &target)) return;
    LaneMask missing = 0;
    if (target.buffer != nullptr) {
      block.counters().global_load_bytes +=
          std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(target.lanes));
      if (target.buffer->writable()) {
        note_global_read(warp, instr, op, target, addresses);
        missing = missing_pages(*block.run().memory, target, addresses);
      }
    } else if (target.space == Space::kShared) {
      block.counters().shared_load_bytes +=
          std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(target.lanes));
      block.counters().shared_bank_conflicts += bank_conflicts(addresses, target.lanes, bytes);
      if (block.checks()) note_shared_read(warp, instr, op, target, addresses);
    }
    if (op.order != Order::kWeak && block.checks()) note_observed(warp, op, target, addresses);
    target.lanes &= ~missing;
    for (unsigned i = 0; i < op.count; ++i) {
      std::byte* to = lanes<std::byte>(warp, warp.function->lists[op.list + i]);
      if (load != nullptr) {
        load(target, addresses, i * op.element_bytes, to);
      } else {
        for_lanes(target.lanes, [&](unsigned lane) {
          std::memcpy(to + std::size_t{lane} * op.register_bytes,
                      target.at(addresses[lane], lane) + i * op.element_bytes, op.element_bytes);
        });
      }
      if (missing != 0) load_poison(block, op, missing, to);
    }
  }
}

void run_store(Warp& warp, const Instr& instr, LaneMask mask) {
  const MemoryOp& op = warp.function->memory_ops[instr.aux];
  Block& block = *warp.block;
  if (op.order != Order::kWeak) block.may_preempt(warp);
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  if (block.checks() && op.register_address) hash_addresses(warp, addresses, mask);
  const unsigned bytes = unsigned{op.element_bytes} * op.count;
  LaneMask left = mask;
  while (left != 0) {
    Target target;
    if (!next_target(warp, instr, op, true, addresses, &left, &target)) return;
    const std::uint64_t moved = std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(target.lanes));
    if (target.space != Space::kLocal && block.checks()) {
      check_lane_conflicts(warp, instr, op, target, addresses);
    }
    if (target.buffer != nullptr) {
      block.counters().global_store_bytes += moved;
      if (!target.buffer->writable()) {
        const unsigned lane = first_lane(target.lanes);
        block.report(Check::kInputWritten, warp, instr_index(warp, instr), lane,
                     std::to_string(bytes) + "-byte store to the read-only buffer '" + target.buffer->name +
                         "' at offset " + std::to_string(addresses[lane] - target.origin),
                     static_cast<std::uint64_t>(std::popcount(target.lanes)));
        continue;
      }
      note_global_write(warp, instr, op, target, addresses, op.order != Order::kWeak);
      for_lanes(target.lanes, [&](unsigned lane) {
        const std::uint64_t offset = addresses[lane] - target.origin;
        block.run().memory->touch(*target.buffer, offset, bytes);
        std::memset(target.buffer->written.data() + offset, 1, bytes);
      });
    } else if (target.space == Space::kShared) {
      block.counters().shared_store_bytes += moved;
      block.counters().shared_bank_conflicts += bank_conflicts(addresses, target.lanes, bytes);
      if (block.checks()) note_shared_write(warp, instr, op, target, addresses, op.order != Order::kWeak);
    }
    if (op.order != Order::kWeak && block.checks()) note_published(warp, op, target, addresses);
    for (unsigned i = 0; i < op.count; ++i) {
      const std::byte* from = lanes<std::byte>(warp, warp.function->lists[op.list + i]);
      const auto move = [&](auto element) {
        for_lanes(target.lanes, [&](unsigned lane) {
          std::memcpy(target.at(addresses[lane], lane) + i * op.element_bytes,
                      from + std::size_t{lane} * op.register_bytes, sizeof(element));
        });
      };
      switch (op.element_bytes) {
        case 1:
          move(std::uint8_t{});
          break;
        case 2:
          move(std::uint16_t{});
          break;
        case 4:
          move(std::uint32_t{});
          break;
        case 8:
          move(std::uint64_t{});
          break;
        default:
          move(Sixteen{});
          break;
      }
    }
  }
}

}  // namespace moe4::ptx
