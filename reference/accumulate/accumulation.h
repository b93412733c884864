// How one accumulator sums a chain: exactly, in FP32, or in the fused steps of a tensor core
// (docs/spec/accumulation.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/status.h"

namespace moe4 {

// One generation's step T-FDPA(L,F): c and L products are cut toward zero to multiples of 2^(e_max - F),
// added exactly, and cut toward zero to F32 (ACC-6 to ACC-14; accumulate/tensor_core.h has the step).
struct TensorCore {
  std::string_view name;          // "hopper"
  int products;                   // L, fused with the accumulator in one step
  int fraction_bits;              // F
  int zero_exponent;              // what a zero term counts with in e_max (ACC-10)
  bool bf16;                      // multiplies BF16, and not F16 only
  std::string_view instructions;  // where this step is found
  std::string_view evidence;      // who says so, for each of the numbers
};
std::span<const TensorCore> tensor_cores();  // oldest first

struct Accumulation {
  enum class Kind : std::uint8_t { kExact, kSequential, kTensorCore };
  Kind kind = Kind::kSequential;
  const TensorCore* unit = nullptr;  // kTensorCore: one of tensor_cores()

  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

// "exact", "f32_sequential", or the name of a generation.
Result<Accumulation> parse_accumulation(std::string_view name);
std::string_view name_of(const Accumulation& accumulation);

}  // namespace moe4
