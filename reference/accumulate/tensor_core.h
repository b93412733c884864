// The step T-FDPA(L,F) of a tensor core, over encodings (docs/spec/accumulation.md, ACC-6 to ACC-15): what
// mma.sync, wgmma and tcgen05.mma do to one element of the accumulator.
//
//   const TensorCore& hopper = *tensor_core("hopper");
//   c = tensor_core_instruction(hopper, Dtype::kBF16, c, row_of_a, column_of_b);   // mma.sync.m16n8k16
//
// Operands are BF16 or F16, the accumulator is F32; both as bits. For tiles, decode each operand once.
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

// ACC-9: an operand taken apart: significand * 2^(exponent - mantissa bits of the dtype).
struct TensorOperand {
  std::int32_t significand = 0;  // signed; 0 for zeros, Inf and NaN
  std::int16_t exponent = 0;
  std::uint8_t inf = 0;  // 1: +Inf, 2: -Inf
  std::uint8_t nan = 0;  // 1: NaN
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

// ACC-7: a chain of any length in steps of L, the last one filled up with zero products.
std::uint32_t tensor_core_chain(const TensorCore& unit, Dtype operands, std::uint32_t c,
                                std::span<const TensorOperand> a, std::span<const TensorOperand> b);

}  // namespace moe4
