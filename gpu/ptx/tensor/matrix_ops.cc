// ldmatrix and stmatrix: 8×8 matrices of 16-bit elements. Lane L gives the address of row L mod 8 of matrix
// L div 8; register j of lane l holds the elements 2(l mod 4), +1 of row l div 4 of matrix j, and with .trans
// those of column l div 4.
#include <cstring>
#include <string>

#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/memory_checks.h"
#include "gpu/ptx/tensor/tensor_ops.h"

namespace moe4::ptx {
namespace {

using Matrix = std::uint16_t[8][8];

LaneMask row_lanes(const Roles& roles) {
  const unsigned count = roles.list_writes + roles.list_reads;
  return count == 4 ? kAllLanes : (LaneMask{1} << (8 * count)) - 1;
}

// Calls visit(target) for the rows of the instruction; they must lie in shared memory. False: a fault.
template <class Visit>
bool for_rows(Warp& warp, const Instr& instr, bool store, std::uint64_t* addresses, const Visit& visit) {
  const MemoryOp& op = warp.function->memory_ops[instr.aux];
  Block& block = *warp.block;
  read_addresses(warp, instr, op, addresses);
  LaneMask left = row_lanes(warp.function->roles[instr_index(warp, instr)]);
  if (block.checks() && op.register_address) hash_addresses(warp, addresses, left);
  while (left != 0) {
    Target target;
    if (!next_target(warp, instr, op, store, addresses, &left, &target)) return false;
    if (target.space != Space::kShared || target.owner != &block) {
      block.fault(Check::kInvalidOperand, warp, instr_index(warp, instr), first_lane(target.lanes),
                  "the rows of a matrix must lie in the block's shared memory, this one is in " +
                      std::string(name_of(target.space)) + " memory" +
                      (target.space == Space::kShared ? " of another block" : ""));
      return false;
    }
    const std::uint64_t moved = std::uint64_t{16} * static_cast<unsigned>(std::popcount(target.lanes));
    (store ? block.counters().shared_store_bytes : block.counters().shared_load_bytes) += moved;
    block.counters().shared_bank_conflicts += bank_conflicts(addresses, target.lanes, 16);
    visit(target);
  }
  return true;
}

}  // namespace

void run_load_matrix(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather_warp(warp, instr, mask)) return;
  Matrix matrices[4];
  std::uint64_t addresses[kLanes];
  const bool ran = for_rows(warp, instr, false, addresses, [&](const Target& target) {
    if (warp.block->checks()) note_matrix_read(warp, instr, target, addresses, instr.imm != 0);
    for_lanes(target.lanes, [&](unsigned lane) {
      std::memcpy(matrices[lane / 8][lane % 8], target.at(addresses[lane], lane), 16);
    });
  });
  if (!ran) return;
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  for (unsigned j = 0; j < roles.list_writes; ++j) {
    std::uint32_t* to = lanes<std::uint32_t>(warp, warp.function->lists[roles.list + j]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = lane / 4, column = 2 * (lane % 4);
      const std::uint32_t low = instr.imm ? matrices[j][column][row] : matrices[j][row][column];
      const std::uint32_t high = instr.imm ? matrices[j][column + 1][row] : matrices[j][row][column + 1];
      to[lane] = low | (high << 16);
    }
  }
}

void run_store_matrix(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather_warp(warp, instr, mask)) return;
  Matrix matrices[4];
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  for (unsigned j = 0; j < roles.list_reads; ++j) {
    const std::uint32_t* from = lanes<std::uint32_t>(warp, warp.function->lists[roles.list + j]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned row = lane / 4, column = 2 * (lane % 4);
      for (unsigned half = 0; half < 2; ++half) {
        const auto value = static_cast<std::uint16_t>(from[lane] >> (16 * half));
        (instr.imm ? matrices[j][column + half][row] : matrices[j][row][column + half]) = value;
      }
    }
  }
  std::uint64_t addresses[kLanes];
  for_rows(warp, instr, true, addresses, [&](const Target& target) {
    if (warp.block->checks()) note_matrix_write(warp, instr, target, addresses, instr.imm != 0);
    for_lanes(target.lanes, [&](unsigned lane) {
      std::memcpy(target.at(addresses[lane], lane), matrices[lane / 8][lane % 8], 16);
    });
  });
}

}  // namespace moe4::ptx
