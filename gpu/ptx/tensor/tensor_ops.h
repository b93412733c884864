// Handlers of the instructions that multiply matrices, and of the loads and stores made for them.
#pragma once

#include <bit>
#include <cstdint>

#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/warp.h"
#include "gpu/ptx/tensor_core.h"

namespace moe4::ptx {

// True when all 32 lanes are here; an exited lane is a fault.
bool gather_warp(Warp& warp, const Instr& instr, LaneMask mask);

// ---- mma_ops.cc ----
struct MmaShape {  // m16n8, FP32 accumulators
  TensorType type = TensorType::kBF16;
  std::uint32_t k = 16;  // 8 or 16
};
inline std::uint64_t encode(MmaShape shape) {
  return shape.k | (static_cast<std::uint64_t>(shape.type) << 8);
}
inline MmaShape decode_mma(std::uint64_t imm) {
  return {static_cast<TensorType>(imm >> 8), static_cast<std::uint32_t>(imm & 0xff)};
}
void run_mma(Warp&, const Instr&, LaneMask);  // aux: list d[4], a[k/4], b[k/8], c[4]; imm: encode(MmaShape)

// ---- matrix_ops.cc ----
// aux: Function::memory_ops (one row: 16 bytes); list: the 1, 2 or 4 registers; imm: 1 for .trans.
void run_load_matrix(Warp&, const Instr&, LaneMask);
void run_store_matrix(Warp&, const Instr&, LaneMask);

}  // namespace moe4::ptx
