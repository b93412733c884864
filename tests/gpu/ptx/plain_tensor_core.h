// Test support: tensor-core arithmetic for values whose sums are exact in FP32, in any order.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/ptx/tensor_core.h"

namespace moe4::ptx::test {

float value_of(TensorType type, std::uint16_t bits);
std::uint16_t encode_small(TensorType type, int value);  // |value| <= 128: exact in both types

// Products and sums in FP32, one after the other.
const TensorCore& plain_tensor_core();

// Small integers, drawn.
std::vector<int> small_integers(std::uint32_t seed, std::size_t count, int limit);

}  // namespace moe4::ptx::test
