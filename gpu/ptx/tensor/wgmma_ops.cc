// wgmma: each of the four warps of a warpgroup has its 16 rows, issues them, and waits for them.
#include <array>
#include <cstring>
#include <string>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/memory_checks.h"
#include "gpu/ptx/tensor/tensor_ops.h"
#include "gpu/ptx/tensor/wgmma.h"

namespace moe4::ptx {
namespace {

constexpr std::uint16_t kSign = 0x8000;

bool uniform(const std::uint64_t* values) {
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    if (values[lane] != values[0]) return false;
  }
  return true;
}

// The operands of one issue, checked.
struct Issue {
  Warp& warp;
  const Instr& instr;
  const WgmmaForm form;
  Block& block;
  MatrixOp op;

  std::uint32_t at() const { return instr_index(warp, instr); }
  bool fault(Check check, std::string message) {
    block.fault(check, warp, at(), 0, std::move(message));
    return false;
  }

  bool read_operands() {
    const LaneMask scale = warp.predicates[instr.c] ^ (form.scale_negated ? kAllLanes : 0u);
    if (scale != 0 && scale != kAllLanes)
      return fault(Check::kWgmma, "the lanes of a warp disagree on scale-d");
    op.accumulate = scale != 0;
    const std::uint64_t* b = lanes<std::uint64_t>(warp, instr.b);
    if (!uniform(b)) return fault(Check::kWgmma, "the lanes of a warp have different descriptors of B");
    op.b = b[0];
    if (form.a_in_registers) return true;
    const std::uint64_t* a = lanes<std::uint64_t>(warp, instr.a);
    if (!uniform(a)) return fault(Check::kWgmma, "the lanes of a warp have different descriptors of A");
    op.a = a[0];
    return true;
  }

  // Bounds, alignment and races of one operand in shared memory.
  bool note_matrix(std::uint64_t bits, bool mn_major, std::uint32_t first, std::uint32_t count,
                   const char* name) {
    const MatrixDescriptor d = decode_descriptor(bits);
    if (d.base_offset != 0) {
      return fault(Check::kInvalidOperand,
                   std::string("the descriptor of ") + name + " has a base offset: not supported");
    }
    const Run& run = block.run();
    bool good = true;
    const bool checks = block.checks();
    for_chunks(d, mn_major, first, count, [&](std::uint32_t address, std::uint32_t, std::uint32_t) {
      if (!good) return;
      const bool inside = (address >= kSharedBase && address + 16 <= run.static_end) ||
                          (address >= run.dynamic_begin && address + 16 <= run.shared_end);
      if (!inside) {
        good = fault(Check::kOutOfBounds, std::string("the descriptor of ") + name + " leads to " +
                                              hex(address) + ", outside the shared memory of the block");
        return;
      }
      SharedRaces::Conflict conflict;
      if (checks && block.shared_races().issue(false, warp.index, 0, address, 16, true, &conflict)) {
        // Copies by cp.async without the fence are common.
        const bool formal = conflict.why == SharedRaces::Conflict::Why::kNoFence &&
                            warp.code[conflict.other_instr].run == &run_copy_async;
        report_shared(warp, at(), address, false, conflict, formal);
      }
    });
    block.counters().shared_load_bytes += std::uint64_t{count} * 32;
    return good;
  }

  void note_registers() {
    HeldRegisters& held = block.async().held(warp);
    const Roles& roles = warp.function->roles[at()];
    if (!held.fenced) {
      block.report(Check::kWgmma, warp, at(), 0, "no wgmma.fence stands before the first wgmma");
    }
    for (std::uint32_t i = 0; i < roles.list_reads; ++i) {
      const std::uint32_t place = warp.function->lists[roles.list + roles.list_writes + i];
      if (place & kConstant) continue;
      HeldRegisters::Slot& slot = held.slots[warp.function->held_slots[place / 64] - 1];
      if (held.fenced && slot.touched != HeldRegisters::kNever) {
        Finding* finding =
            block.report(Check::kWgmma, warp, at(), 0,
                         "no wgmma.fence lies between another use of a register of this wgmma and it");
        if (finding != nullptr) finding->other = block.place(slot.touched, warp.index, 0);
      }
      slot.touched = HeldRegisters::kNever;
      ++(i < roles.list_writes ? slot.accumulates : slot.feeds);
      slot.by = at();
    }
  }
};

}  // namespace

void run_wgmma(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather_warp(warp, instr, mask)) return;
  Block& block = *warp.block;
  Issue issue{warp, instr, decode_wgmma(instr.imm), block, {}};
  issue.op.instr = issue.at();
  if ((warp.index | 3) >= block.run().warps || block.run().threads < (warp.index | 3) * kLanes + kLanes) {
    issue.fault(Check::kWgmma, "the warpgroup has fewer than four warps");
    return;
  }
  if (!issue.read_operands()) return;
  if (block.checks()) {
    hash_path(warp, issue.op.a);
    hash_path(warp, issue.op.b);
    hash_path(warp, issue.op.accumulate);
  }
  if (!issue.form.a_in_registers &&
      !issue.note_matrix(issue.op.a, issue.form.a_mn_major, kWarpRows * (warp.index % 4), kWarpRows, "A")) {
    return;
  }
  if (!issue.note_matrix(issue.op.b, issue.form.b_mn_major, 0, issue.form.columns, "B")) return;
  if (block.checks()) issue.note_registers();
  block.async().issue(warp, issue.op);
}

void run_wgmma_fence(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather_warp(warp, instr, mask)) return;
  HeldRegisters& held = warp.block->async().held(warp);
  held.fenced = true;
  for (HeldRegisters::Slot& slot : held.slots) slot.touched = HeldRegisters::kNever;
}

void run_wgmma_commit(Warp& warp, const Instr& instr, LaneMask mask) {
  if (gather_warp(warp, instr, mask)) warp.block->async().commit_matrices(warp);
}

void run_wgmma_wait(Warp& warp, const Instr& instr, LaneMask mask) {
  if (gather_warp(warp, instr, mask)) {
    warp.block->async().wait_matrices(warp, static_cast<std::uint32_t>(instr.imm));
  }
}

void run_set_registers(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather_warp(warp, instr, mask)) return;
  Block& block = *warp.block;
  warp.max_registers = static_cast<std::uint32_t>(instr.imm);
  std::uint64_t sum = 0;
  for (const Warp& other : block.warps()) sum += std::uint64_t{other.max_registers} * kLanes;
  if (sum > 65536) {
    block.report(
        Check::kInvalidOperand, warp, instr_index(warp, instr), 0,
        "the warps have asked for " + std::to_string(sum) + " registers by setmaxnreg, and 65536 exist");
  }
}

void Async::issue(Warp& warp, MatrixOp op) {
  WarpState& state = warps_[warp.index];
  op.group = state.matrix_group;
  if (block_.checks()) {
    // The warps of a warpgroup execute the same sequence.
    std::vector<MatrixOp>& sequence = sequences_[warp.index / 4];
    const std::size_t number = state.matrices_issued++;
    if (number == sequence.size()) {
      sequence.push_back(op);
    } else if (const MatrixOp& first = sequence[number]; first.instr != op.instr || first.a != op.a ||
                                                         first.b != op.b ||
                                                         first.accumulate != op.accumulate) {
      Finding* finding =
          block_.report(Check::kWgmma, warp, op.instr, 0,
                        "the warps of a warpgroup execute different wgmma, or with different operands");
      if (finding != nullptr) finding->other = block_.place(first.instr, warp.index / 4 * 4, 0);
    }
  }
  state.matrices.push_back(op);
  if (block_.seeded() && block_.next_random() % 4 == 0) execute_matrices(warp, ~std::uint32_t{0});
}

void Async::commit_matrices(Warp& warp) { ++warps_[warp.index].matrix_group; }

void Async::execute_matrices(Warp& warp, std::uint32_t end_group) {
  WarpState& state = warps_[warp.index];
  const TensorCore& core = *block_.run().options->tensor_core;
  alignas(64) std::uint32_t d[kWarpRows * 256];
  alignas(64) std::uint16_t a[kWarpRows * 16], b[256 * 16];
  const std::uint32_t* loaded = nullptr;  // the list of accumulators in d
  std::uint32_t columns = 0;
  const auto at = [&](unsigned lane, unsigned i) {
    return wgmma_row(lane, i) * columns + wgmma_column(lane, i);
  };
  const auto store = [&] {
    for (unsigned i = 0; loaded != nullptr && i < columns / 2; ++i) {
      std::uint32_t* to = lanes<std::uint32_t>(warp, loaded[i]);
      for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = d[at(lane, i)];
    }
    loaded = nullptr;
  };
  const auto load_matrix = [&](std::uint64_t bits, bool mn_major, std::uint32_t first, std::uint32_t count,
                               bool negate, std::uint16_t* to) {
    for_chunks(decode_descriptor(bits), mn_major, first, count,
               [&](std::uint32_t address, std::uint32_t row, std::uint32_t k) {
                 const std::byte* from = block_.shared() + address;
                 std::uint16_t* element = to + (row - first) * 16 + k;
                 if (!mn_major) {
                   std::memcpy(element, from, 16);
                 } else {
                   for (unsigned i = 0; i < 8; ++i) std::memcpy(element + 16 * i, from + 2 * i, 2);
                 }
               });
    for (std::uint32_t i = 0; negate && i < count * 16; ++i) to[i] ^= kSign;
  };
  for (MatrixOp& op : state.matrices) {
    if (op.executed) continue;
    if (op.group >= end_group) break;
    op.executed = true;
    const Instr& instr = warp.code[op.instr];
    const WgmmaForm form = decode_wgmma(instr.imm);
    const Roles& roles = warp.function->roles[op.instr];
    const std::uint32_t* list = warp.function->lists.data() + roles.list;
    const bool same = loaded != nullptr && columns == form.columns &&
                      std::memcmp(loaded, list, columns / 2 * sizeof(std::uint32_t)) == 0;
    if (!same) store();
    columns = form.columns;
    if (!op.accumulate) {
      std::memset(d, 0, std::size_t{kWarpRows} * columns * sizeof(std::uint32_t));
    } else if (!same) {
      for (unsigned i = 0; i < columns / 2; ++i) {
        const std::uint32_t* from = lanes<std::uint32_t>(warp, list[i]);
        for (unsigned lane = 0; lane < kLanes; ++lane) d[at(lane, i)] = from[lane];
      }
    }
    loaded = list;
    if (form.a_in_registers) {
      for (unsigned j = 0; j < 4; ++j) {  // registers of two values, the lower half first
        const std::uint32_t* from = lanes<std::uint32_t>(warp, list[columns + j]);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          const std::uint32_t word = form.negate_a ? from[lane] ^ 0x80008000u : from[lane];
          std::memcpy(a + (lane / 4 + 8 * (j % 2)) * 16 + 2 * (lane % 4) + 8 * (j / 2), &word, 4);
        }
      }
    } else {
      load_matrix(op.a, form.a_mn_major, kWarpRows * (warp.index % 4), kWarpRows, form.negate_a, a);
    }
    load_matrix(op.b, form.b_mn_major, 0, columns, form.negate_b, b);
    TensorTile tile;
    tile.type = form.type;
    tile.warpgroup = true;
    tile.rows = kWarpRows;
    tile.columns = columns;
    tile.k = 16;
    tile.a = a;
    tile.b = b;
    tile.d = d;
    core.multiply_add(core.context, tile);
    block_.counters().tensor_multiply_adds += std::uint64_t{kWarpRows} * columns * 16;
  }
  store();
}

void Async::wait_matrices(Warp& warp, std::uint32_t allowed) {
  WarpState& state = warps_[warp.index];
  if (state.matrices.empty()) return;
  const std::uint32_t end = state.matrix_group - std::min(allowed, state.matrix_group);
  execute_matrices(warp, end);
  const unsigned agent = kMatrixAgent + warp.index;
  Who who;
  if (block_.checks()) {
    WarpClocks& clocks = block_.shared_races().clocks();
    const std::uint32_t epoch = clocks.advance_agent(agent);
    clocks.clock(warp.index).agents[agent] = epoch;
    who = Who::make_async(epoch, agent);
  }
  while (!state.matrices.empty() && state.matrices.front().group < end) {
    const MatrixOp op = state.matrices.front();
    state.matrices.pop_front();
    if (!block_.checks()) continue;
    const WgmmaForm form = decode_wgmma(warp.code[op.instr].imm);
    const auto done = [&](std::uint32_t address, std::uint32_t, std::uint32_t) {
      block_.shared_races().complete(false, who, warp.index, address, 16, op.instr);
    };
    if (!form.a_in_registers) {
      for_chunks(decode_descriptor(op.a), form.a_mn_major, kWarpRows * (warp.index % 4), kWarpRows, done);
    }
    for_chunks(decode_descriptor(op.b), form.b_mn_major, 0, form.columns, done);
    const Roles& roles = warp.function->roles[op.instr];
    for (std::uint32_t i = 0; i < roles.list_reads; ++i) {
      const std::uint32_t place = warp.function->lists[roles.list + roles.list_writes + i];
      if (place & kConstant) continue;
      HeldRegisters::Slot& slot = state.held.slots[warp.function->held_slots[place / 64] - 1];
      --(i < roles.list_writes ? slot.accumulates : slot.feeds);
    }
  }
}

HeldRegisters& Async::held(const Warp& warp) { return warps_[warp.index].held; }

}  // namespace moe4::ptx
