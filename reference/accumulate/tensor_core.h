// The step T-FDPA(L,F) of a tensor core, over encodings (docs/spec/accumulation.md, ACC-6 to ACC-15): what
// mma.sync, wgmma and tcgen05.mma do to one element of the accumulator.
//
//   const TensorCore& hopper = *tensor_core("hopper");
//   c = tensor_core_instruction(hopper, Dtype::kBF16, c, row_of_a, column_of_b);   // mma.sync.m16n8k16
//   tensor_core_tile(hopper, Dtype::kBF16, {64, 256, 16, a, b, d});                // wgmma m64n256k16
//
// Operands are BF16 or F16, the accumulator is F32; both as bits.
// Everything is integer arithmetic and safe to call from any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/accumulate/accumulation.h"
#include "reference/tensor.h"

namespace moe4 {

// The record of a generation by name, or null.
const TensorCore* tensor_core(std::string_view name);

// ACC-6: whether the generation multiplies this dtype.
bool multiplies(const TensorCore& unit, Dtype operands);

// ACC-9: an operand taken apart: significand * 2^(exponent - mantissa bits of the dtype). Inf has the
// significand 1 or -1, NaN 0, and both an exponent that no finite operand has.
struct TensorOperand {
  static constexpr std::int32_t kInf = 1 << 14;
  static constexpr std::int32_t kNan = 1 << 15;
  std::int32_t significand = 0;  // signed
  std::int32_t exponent = 0;
};
TensorOperand tensor_operand(Dtype operands, std::uint16_t bits);

// One step on exactly the products that are given. Preconditions: operands is BF16 or F16, a.size() ==
// b.size() <= unit.products.
std::uint32_t tensor_core_step(const TensorCore& unit, Dtype operands, std::uint32_t c,
                               std::span<const TensorOperand> a, std::span<const TensorOperand> b);
std::uint32_t tensor_core_step(const TensorCore& unit, Dtype operands, std::uint32_t c,
                               std::span<const std::uint16_t> a, std::span<const std::uint16_t> b);

// ACC-13: an instruction of K = a.size() products: steps of L, or one of K if that is less. Precondition: K
// is at most L or a multiple of it.
std::uint32_t tensor_core_instruction(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                      std::span<const TensorOperand> a, std::span<const TensorOperand> b);
std::uint32_t tensor_core_instruction(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                      std::span<const std::uint16_t> a, std::span<const std::uint16_t> b);

// The same for a whole tile: d[r·columns + c] is the accumulator of row r of a and row c of b, both of k
// operands, row-major. Each operand is decoded once. Precondition: k is at most L or a multiple of it.
struct TensorTile {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t k = 0;
  const std::uint16_t* a = nullptr;
  const std::uint16_t* b = nullptr;
  std::uint32_t* d = nullptr;
};
void tensor_core_tile(const TensorCore& unit, Dtype operands, const TensorTile& tile);

// ACC-7: a chain of any length in steps of L, the last one filled up with zero products.
std::uint32_t tensor_core_chain(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                std::span<const TensorOperand> a, std::span<const TensorOperand> b);

}  // namespace moe4
