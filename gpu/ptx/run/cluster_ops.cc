// barrier.cluster, mapa and getctarank.
#include <string>

#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/collective.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

constexpr std::uint64_t kOffset = (std::uint64_t{1} << kRankShift) - 1;

// True when the lanes execute a cluster barrier instruction now.
bool ready(Warp& warp, const Instr& instr, LaneMask mask) {
  return instr.imm & 1 ? gather(warp, instr, mask, kAllLanes, true) : !split_by_guard(warp, instr, mask);
}

std::uint64_t read(Warp& warp, std::uint32_t operand, unsigned bytes, unsigned lane) {
  return bytes == 8 ? lanes<std::uint64_t>(warp, operand)[lane] : lanes<std::uint32_t>(warp, operand)[lane];
}

void write(Warp& warp, std::uint32_t operand, unsigned bytes, unsigned lane, std::uint64_t value) {
  if (bytes == 8) {
    lanes<std::uint64_t>(warp, operand)[lane] = value;
  } else {
    lanes<std::uint32_t>(warp, operand)[lane] = static_cast<std::uint32_t>(value);
  }
}

// The part of an address below its window. False: a generic address outside shared memory, a fault.
bool shared_part(Warp& warp, const Instr& instr, unsigned lane, std::uint64_t address, std::uint64_t* part) {
  const bool generic = (instr.imm >> 8) & 1;
  *part = generic ? address & (kWindowBytes - 1) : address;
  if (!generic || (address & ~(kWindowBytes - 1)) == kSharedWindow) return true;
  warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr), lane,
                    hex(address) + " is no address of shared memory");
  return false;
}

}  // namespace

void run_cluster_arrive(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!ready(warp, instr, mask)) return;
  Block& block = *warp.block;
  ++block.counters().barriers;
  // A cluster of one block: all that a barrier does is to order the threads of the block.
  block.cluster()->arrive(block, warp, instr_index(warp, instr), mask, (instr.imm & 2) == 0);
}

void run_cluster_wait(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!ready(warp, instr, mask)) return;
  warp.block->cluster()->wait(*warp.block, warp, instr_index(warp, instr), mask);
}

void run_map_to_block(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto bytes = static_cast<unsigned>(instr.imm & 0xff);
  const std::uint32_t* ranks = lanes<std::uint32_t>(warp, instr.b);
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    const std::uint64_t address = read(warp, instr.a, bytes, lane);
    std::uint64_t part = 0;
    if (!shared_part(warp, instr, lane, address, &part)) return;
    if (ranks[lane] >= warp.block->run().cluster_blocks) {
      return warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr), lane,
                               "block " + std::to_string(ranks[lane]) + " of a cluster of " +
                                   std::to_string(warp.block->run().cluster_blocks));
    }
    const std::uint64_t mapped = cluster_address(static_cast<std::uint32_t>(part & kOffset), ranks[lane]);
    write(warp, instr.d, bytes, lane, address - part + mapped);
  }
}

void run_block_of_address(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto bytes = static_cast<unsigned>(instr.imm & 0xff);
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    std::uint64_t part = 0;
    if (!shared_part(warp, instr, lane, read(warp, instr.a, bytes, lane), &part)) return;
    const std::uint64_t place = part >> kRankShift;
    d[lane] = place == 0 ? warp.block->rank() : static_cast<std::uint32_t>(place - 1);
  }
}

}  // namespace moe4::ptx
