// Exact values into tensors (DATA-6).
#pragma once

#include <cstdint>

#include "reference/formats/exact_value.h"
#include "reference/tensor.h"

namespace moe4::oracle {

// Stores value as element `index` of a float tensor: rounded to nearest even (FMT-7); a NaN keeps its sign
// and the low bits of its payload, a payload of zero there becomes the canonical NaN (FMT-8).
void store_float(Tensor& tensor, std::int64_t index, const ExactValue& value);

// Stores an id as element `index` of an I32 or I64 tensor.
void store_id(Tensor& tensor, std::int64_t index, std::int64_t id);

// The encoding of element `index` of a float tensor.
std::uint64_t load_float_bits(const Tensor& tensor, std::int64_t index);
std::int64_t load_id(const Tensor& tensor, std::int64_t index);

}  // namespace moe4::oracle
