// A tensor spread out in memory: strides of either sign, every byte between the elements poisoned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/tensor.h"

namespace properties {

struct Strided {
  std::vector<std::byte> memory;
  moe4::TensorView view;
};

// The elements of `tensor` in memory filled with 0xFF. `choice` decides gaps, order of the axes and signs.
Strided spread(const moe4::Tensor& tensor, std::uint64_t choice);

}  // namespace properties
