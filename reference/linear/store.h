// Writes single elements of an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/tensor.h"

namespace moe4 {

// The low bytes of bits become element `index`, in row order.
inline void store(const MutableTensorView& output, std::int64_t index, std::uint64_t bits) {
  const std::size_t size = size_of(output.dtype);
  std::memcpy(static_cast<std::byte*>(output.data) + static_cast<std::size_t>(index) * size, &bits, size);
}

// Below this number of products, threads cost more than they bring.
inline constexpr std::int64_t kMinParallelProducts = 1 << 16;

}  // namespace moe4
