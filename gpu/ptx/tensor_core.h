// The arithmetic of tensor cores, supplied by whoever launches: the executor has none of its own. The PTX ISA
// leaves order, rounding and width of the sums open, so that the chip, not the PTX target, decides the bits.
#pragma once

#include <cstdint>
#include <string>

namespace moe4::ptx {

enum class TensorType : std::uint8_t { kF16, kBF16 };

// The outputs of one instruction, or a part of them: for each row r and column c,
// d[r, c] = d[r, c] + sum over i < k of a[r, i] * b[c, i]. All operands are encodings.
struct TensorTile {
  TensorType type = TensorType::kBF16;
  bool warpgroup = false;  // wgmma.mma_async rather than mma.sync
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t k = 0;               // of the instruction: 8 or 16
  const std::uint16_t* a = nullptr;  // rows × k, row-major
  const std::uint16_t* b = nullptr;  // columns × k, row-major
  std::uint32_t* d = nullptr;        // rows × columns FP32, row-major: accumulators in, results out
};

// Options::tensor_core. Instructions that multiply matrices are refused without one.
struct TensorCore {
  std::string chip;  // whose arithmetic it is; enters messages
  // May be called from several host threads at once.
  void (*multiply_add)(const void* context, const TensorTile& tile) = nullptr;
  const void* context = nullptr;
  bool f16 = true, bf16 = true;  // what the chip multiplies; entries that want the other are refused
};

}  // namespace moe4::ptx
