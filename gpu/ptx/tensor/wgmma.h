// wgmma.mma_async: what an instruction says, where its operands lie, and what a warp has issued.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gpu/ptx/run/warp.h"
#include "gpu/ptx/tensor_core.h"

namespace moe4::ptx {

// m64nNk16, FP32 accumulators. imm of the instruction.
struct WgmmaForm {
  std::uint32_t columns = 8;  // N: 8 … 256
  TensorType type = TensorType::kBF16;
  bool a_in_registers = false;
  bool negate_a = false, negate_b = false;
  bool a_mn_major = false, b_mn_major = false;  // transposed: the reduction is not the contiguous dimension
  bool scale_negated = false;                   // scale-d is !p
};
std::uint64_t encode(const WgmmaForm& form);
WgmmaForm decode_wgmma(std::uint64_t imm);

// A matrix in shared memory as a 64-bit descriptor says (PTX ISA, "Matrix-descriptor Format").
struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0;  // bytes
  std::uint32_t base_offset = 0;
  std::uint32_t swizzle_bytes = 0;  // 0 none, 32, 64, 128
};
MatrixDescriptor decode_descriptor(std::uint64_t bits);

// Calls visit(address, row, k) for the 16-byte chunks of rows [first, first + count) and the 16 elements of
// k: eight elements along k from (row, k), or along the rows when the matrix is MN-major.
template <class Visit>
void for_chunks(const MatrixDescriptor& d, bool mn_major, std::uint32_t first, std::uint32_t count,
                const Visit& visit) {
  const std::uint32_t s = d.swizzle_bytes;
  const auto swizzled = [&](std::uint32_t address) {
    return s == 0 ? address : address ^ (((address >> 7) & (s / 16 - 1)) << 4);
  };
  if (!mn_major) {
    for (std::uint32_t r = first; r < first + count; ++r) {
      const std::uint32_t row = d.start + r / 8 * d.stride + r % 8 * (s == 0 ? 16 : s);
      visit(swizzled(row), r, 0u);
      visit(swizzled(row + (s == 0 ? d.leading : 16)), r, 8u);
    }
    return;
  }
  for (std::uint32_t k = 0; k < 16; ++k) {
    for (std::uint32_t r = first; r < first + count; r += 8) {
      const std::uint32_t b = 2 * r;
      const std::uint32_t address = s == 0
                                        ? d.start + b / 16 * d.stride + k / 8 * d.leading + k % 8 * 16
                                        : d.start + b / s * d.leading + b % s + k / 8 * d.stride + k % 8 * s;
      visit(swizzled(address), r, k);
    }
  }
}

// Rows of a warp's part of the accumulators, and the place of value i of a lane in it.
inline constexpr std::uint32_t kWarpRows = 16;
inline std::uint32_t wgmma_row(unsigned lane, unsigned i) { return lane / 4 + 8 * (i / 2 % 2); }
inline std::uint32_t wgmma_column(unsigned lane, unsigned i) { return 8 * (i / 4) + 2 * (lane % 4) + i % 2; }

// One instruction of a warp that has not been waited for.
struct MatrixOp {
  std::uint32_t instr = 0;
  std::uint32_t group = 0;
  std::uint64_t a = 0, b = 0;  // descriptors
  bool accumulate = true;      // scale-d
  bool executed = false;
};

void run_wgmma(Warp&, const Instr&, LaneMask);  // list: d, d, a registers; a, b: descriptors; c: scale-d
void run_wgmma_fence(Warp&, const Instr&, LaneMask);
void run_wgmma_commit(Warp&, const Instr&, LaneMask);
void run_wgmma_wait(Warp&, const Instr&, LaneMask);     // imm: groups that may be pending
void run_set_registers(Warp&, const Instr&, LaneMask);  // setmaxnreg; imm: count

}  // namespace moe4::ptx
