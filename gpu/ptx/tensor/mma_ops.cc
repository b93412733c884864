// mma.sync: the fragments of a warp to matrices, the hook's arithmetic, and back (PTX ISA, "Matrix Fragments
// for mma.m16n8k16" and "… m16n8k8").
#include <bit>
#include <string>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/collective.h"
#include "gpu/ptx/tensor/tensor_ops.h"

namespace moe4::ptx {

bool gather_warp(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather(warp, instr, mask, kAllLanes, true)) return false;
  if (mask == kAllLanes) return true;
  warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr),
                    static_cast<unsigned>(std::countr_zero(mask)),
                    "lanes " + hex(~mask) + " of the warp have exited, and all 32 must execute it");
  return false;
}

void run_mma(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather_warp(warp, instr, mask)) return;
  const MmaShape shape = decode_mma(instr.imm);
  const unsigned words = shape.k / 2;  // 32-bit words of a row: two elements each
  const std::uint32_t* list = warp.function->lists.data() + instr.aux;
  const std::uint32_t* d_registers = list;
  const std::uint32_t* a_registers = d_registers + 4;
  const std::uint32_t* b_registers = a_registers + shape.k / 4;
  const std::uint32_t* c_registers = b_registers + shape.k / 8;
  alignas(64) std::uint32_t a[16 * 8], b[8 * 8], d[16 * 8];
  for (unsigned i = 0; i < shape.k / 4; ++i) {
    const std::uint32_t* from = lanes<std::uint32_t>(warp, a_registers[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      a[(lane / 4 + 8 * (i % 2)) * words + lane % 4 + 4 * (i / 2)] = from[lane];
    }
  }
  for (unsigned i = 0; i < shape.k / 8; ++i) {
    const std::uint32_t* from = lanes<std::uint32_t>(warp, b_registers[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) b[lane / 4 * words + lane % 4 + 4 * i] = from[lane];
  }
  const auto at = [](unsigned lane, unsigned i) {
    return (lane / 4 + 8 * (i / 2)) * 8 + 2 * (lane % 4) + i % 2;
  };
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t* from = lanes<std::uint32_t>(warp, c_registers[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) d[at(lane, i)] = from[lane];
  }
  TensorTile tile;
  tile.type = shape.type;
  tile.rows = 16;
  tile.columns = 8;
  tile.k = shape.k;
  tile.a = reinterpret_cast<const std::uint16_t*>(a);
  tile.b = reinterpret_cast<const std::uint16_t*>(b);
  tile.d = d;
  Block& block = *warp.block;
  const TensorCore& core = *block.run().options->tensor_core;
  core.multiply_add(core.context, tile);
  block.counters().tensor_multiply_adds += std::uint64_t{16 * 8} * shape.k;
  for (unsigned i = 0; i < 4; ++i) {
    std::uint32_t* to = lanes<std::uint32_t>(warp, d_registers[i]);
    for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = d[at(lane, i)];
  }
}

}  // namespace moe4::ptx
