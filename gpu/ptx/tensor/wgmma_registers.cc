#include "gpu/ptx/tensor/wgmma_registers.h"

#include <string>
#include <utility>

#include "gpu/ptx/alu/alu.h"
#include "gpu/ptx/run/block.h"

namespace moe4::ptx {
namespace {

void touch(Warp& warp, const Instr& instr, std::uint32_t operand, bool write) {
  if (operand & kConstant) return;
  const std::uint32_t number = warp.function->held_slots[operand / 64];
  if (number == 0) return;
  Block& block = *warp.block;
  HeldRegisters::Slot& slot = block.async().held(warp).slots[number - 1];
  if (slot.accumulates == 0 && (slot.feeds == 0 || !write)) {
    slot.touched = instr_index(warp, instr);
    return;
  }
  // A plain copy is what an assembler makes disappear.
  const bool copy = !write && (instr.run == host_alu().integer(IntOp::kMove, Type::kB32));
  Finding* finding = block.report(Check::kWgmma, warp, instr_index(warp, instr), 0,
                                  std::string(write ? "writes" : "reads") +
                                      (slot.accumulates != 0 ? " an accumulator" : " a fragment of A") +
                                      " of a wgmma that no wgmma.wait_group has completed");
  if (finding != nullptr) {
    finding->formal = copy;
    finding->other = block.place(slot.by, warp.index, 0);
  }
  if (copy) block.async().execute_matrices(warp, ~std::uint32_t{0});
}

}  // namespace

void check_held_registers(Warp& warp, const Instr& instr) {
  const Roles& roles = warp.function->roles[instr_index(warp, instr)];
  const std::pair<std::uint8_t, std::uint32_t> fields[] = {{Roles::kD, instr.d},
                                                           {Roles::kE, instr.e},
                                                           {Roles::kA, instr.a},
                                                           {Roles::kB, instr.b},
                                                           {Roles::kC, instr.c}};
  for (const auto& [bit, operand] : fields) {
    if (roles.predicates & bit) continue;
    if (roles.reads & bit) touch(warp, instr, operand, false);
    if (roles.writes & bit) touch(warp, instr, operand, true);
  }
  for (std::uint32_t i = 0; i < std::uint32_t{roles.list_writes} + roles.list_reads; ++i) {
    touch(warp, instr, warp.function->lists[roles.list + i], i < roles.list_writes);
  }
}

}  // namespace moe4::ptx
