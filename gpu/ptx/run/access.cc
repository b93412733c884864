#include "gpu/ptx/run/access.h"

#include <algorithm>
#include <string>

#include "gpu/ptx/run/findings.h"

namespace moe4::ptx {
namespace {

struct Range {
  std::uint64_t low = ~0ull, high = 0;
};

Range range_of(const std::uint64_t* addresses, LaneMask mask) {
  Range range;
  if (mask == kAllLanes) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      range.low = std::min(range.low, addresses[lane]);
      range.high = std::max(range.high, addresses[lane]);
    }
    return range;
  }
  for_lanes(mask, [&](unsigned lane) {
    range.low = std::min(range.low, addresses[lane]);
    range.high = std::max(range.high, addresses[lane]);
  });
  return range;
}

Space space_of(std::uint64_t address) {
  switch (address & ~(kWindowBytes - 1)) {
    case kSharedWindow:
      return Space::kShared;
    case kLocalWindow:
      return Space::kLocal;
    case kParamWindow:
      return Space::kParam;
    case kConstWindow:
      return Space::kConst;
    default:
      return Space::kGlobal;
  }
}

std::string what(const MemoryOp& op, bool store, unsigned bytes) {
  return std::to_string(bytes) + "-byte " + (store ? "store" : "load") + " of " +
         (op.space == Space::kGeneric ? std::string("generic") : std::string(name_of(op.space))) + " memory";
}

// "12 bytes past the end of buffer 'x' (1024 bytes)", "not in any buffer".
std::string where_global(const Memory::Impl& memory, std::uint64_t address, std::uint64_t bytes) {
  const Buffer* buffer = memory.near(address);
  if (buffer == nullptr) return "in no buffer";
  const std::string name = "buffer '" + buffer->name + "' (" + std::to_string(buffer->bytes) + " bytes)";
  if (address < buffer->address) return std::to_string(buffer->address - address) + " bytes before " + name;
  const std::uint64_t offset = address - buffer->address;
  if (offset >= buffer->bytes)
    return std::to_string(offset - buffer->bytes) + " bytes past the end of " + name;
  return "at offset " + std::to_string(offset) + ", the last " +
         std::to_string(offset + bytes - buffer->bytes) + " of its bytes past the end of " + name;
}

}  // namespace

void read_addresses(Warp& warp, const Instr& instr, const MemoryOp& op, std::uint64_t* addresses) {
  const auto offset = static_cast<std::uint64_t>(op.offset);
  if (!op.register_address) {
    std::fill(addresses, addresses + kLanes, offset);
  } else if (op.address_bytes == 8) {
    const std::uint64_t* a = lanes<std::uint64_t>(warp, instr.a);
    for (unsigned lane = 0; lane < kLanes; ++lane) addresses[lane] = a[lane] + offset;
  } else {
    // A 32-bit address wraps in 32 bits.
    const std::uint32_t* a = lanes<std::uint32_t>(warp, instr.a);
    const auto low = static_cast<std::uint32_t>(offset);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      addresses[lane] = static_cast<std::uint32_t>(a[lane] + low);
  }
}

bool next_target(Warp& warp, const Instr& instr, const MemoryOp& op, bool store, std::uint64_t* addresses,
                 LaneMask* left, Target* target) {
  Block& block = *warp.block;
  Run& run = block.run();
  const unsigned bytes = unsigned{op.element_bytes} * op.count;
  const std::uint32_t at = instr_index(warp, instr);
  LaneMask group = *left;
  Space space = op.space;
  if (space == Space::kGeneric) {
    space = space_of(addresses[first_lane(group)]);
    for_lanes(*left, [&](unsigned lane) {
      if (space_of(addresses[lane]) != space) group &= ~(LaneMask{1} << lane);
    });
    if (space != Space::kGlobal) {
      for_lanes(group, [&](unsigned lane) { addresses[lane] &= kWindowBytes - 1; });
    }
  }
  Block* owner = &block;
  if (space == Space::kShared && (op.cluster || op.space == Space::kGeneric)) {
    const std::uint64_t place = addresses[first_lane(group)] >> kRankShift;
    for_lanes(group, [&](unsigned lane) {
      if (addresses[lane] >> kRankShift != place) group &= ~(LaneMask{1} << lane);
    });
    if (place != 0) {
      if (place > run.cluster_blocks) {
        block.fault(Check::kOutOfBounds, warp, at, first_lane(group),
                    what(op, store, bytes) + " at " + hex(addresses[first_lane(group)]) + ", in block " +
                        std::to_string(place - 1) + " of a cluster of " + std::to_string(run.cluster_blocks));
        return false;
      }
      owner = &block.peer(static_cast<unsigned>(place - 1));
      for_lanes(group, [&](unsigned lane) { addresses[lane] &= (1u << kRankShift) - 1; });
      if (owner != &block && !block.reaches(warp, at, group, *owner)) return false;
    }
  }
  const auto out_of_bounds = [&](LaneMask bad, std::string where) {
    block.fault(Check::kOutOfBounds, warp, at, first_lane(bad),
                what(op, store, bytes) + " at " + hex(addresses[first_lane(bad)]) + ", " + std::move(where),
                static_cast<std::uint64_t>(std::popcount(bad)));
    return false;
  };
  std::uint64_t any = 0;
  for_lanes(group, [&](unsigned lane) { any |= addresses[lane]; });
  if (any & (bytes - 1)) {
    LaneMask bad = 0;
    for_lanes(group, [&](unsigned lane) {
      if (addresses[lane] & (bytes - 1)) bad |= LaneMask{1} << lane;
    });
    block.fault(Check::kMisaligned, warp, at, first_lane(bad),
                what(op, store, bytes) + " at " + hex(addresses[first_lane(bad)]) + ", not a multiple of " +
                    std::to_string(bytes),
                static_cast<std::uint64_t>(std::popcount(bad)));
    return false;
  }
  const auto outside = [&](std::uint64_t low, std::uint64_t high) {
    LaneMask bad = 0;
    for_lanes(group, [&](unsigned lane) {
      if (addresses[lane] < low || bytes > high || addresses[lane] > high - bytes) bad |= LaneMask{1} << lane;
    });
    return bad;
  };

  target->space = space;
  target->buffer = nullptr;
  target->owner = nullptr;
  target->origin = 0;
  target->lane_stride = 0;
  switch (space) {
    case Space::kShared: {
      LaneMask bad = outside(kSharedBase, run.static_end);
      if (bad != 0) bad &= outside(run.dynamic_begin, run.shared_end);
      if (bad != 0) {
        return out_of_bounds(bad, "outside the shared memory of the block: static [" + hex(kSharedBase) +
                                      ", " + hex(run.static_end) + "), dynamic [" + hex(run.dynamic_begin) +
                                      ", " + hex(run.shared_end) + ")" +
                                      (addresses[first_lane(bad)] >> kRankShift != 0
                                           ? "; an address of mapa names a block of the cluster, which only "
                                             "instructions for shared::cluster and generic ones reach"
                                           : ""));
      }
      target->host = owner->shared();
      target->owner = owner;
      break;
    }
    case Space::kLocal:
    case Space::kFrame: {
      const LaneMask bad = outside(0, block.function().local_bytes);
      if (bad != 0) {
        return out_of_bounds(bad, "outside the " + std::to_string(block.function().local_bytes) +
                                      " bytes of local memory of a thread");
      }
      target->host = block.local(warp);
      target->lane_stride = block.local_stride();
      break;
    }
    case Space::kParam: {
      const LaneMask bad = outside(0, run.launch->parameters.size());
      if (bad != 0) return out_of_bounds(bad, "outside the parameters");
      target->host = const_cast<std::byte*>(run.launch->parameters.data());
      break;
    }
    case Space::kConst: {
      const LaneMask bad = outside(0, run.constants.size());
      if (bad != 0) return out_of_bounds(bad, "outside the constants of the module");
      target->host = run.constants.data();
      break;
    }
    default: {
      const std::uint64_t address = addresses[first_lane(group)];
      Buffer* buffer = nullptr;
      if ((address & ~(kWindowBytes - 1)) == kGlobalsWindow && run.globals != nullptr) {
        buffer = run.globals;
      } else {
        buffer = run.memory->near(address);
      }
      const auto inside = [&](std::uint64_t a) {
        return a >= buffer->address && bytes <= buffer->bytes && a - buffer->address <= buffer->bytes - bytes;
      };
      if (buffer == nullptr || !inside(address)) {
        return out_of_bounds(group & (0u - group), where_global(*run.memory, address, bytes));
      }
      const Range range = range_of(addresses, group);
      if (!inside(range.low) || !inside(range.high)) {
        LaneMask same = 0;
        for_lanes(group, [&](unsigned lane) {
          if (inside(addresses[lane])) same |= LaneMask{1} << lane;
        });
        group = same;
      }
      target->buffer = buffer;
      target->host = buffer->host;
      target->origin = buffer->address;
      break;
    }
  }
  if (store && (space == Space::kParam || space == Space::kConst)) {
    return out_of_bounds(group, "in a read-only space");
  }
  target->lanes = group;
  *left &= ~group;
  return true;
}

}  // namespace moe4::ptx
