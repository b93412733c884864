#include "tests/properties/strided.h"

#include <cstring>
#include <numeric>

namespace properties {
namespace {

// The axes from the innermost in memory to the outermost: row-major, or any other order.
std::vector<std::size_t> axis_order(std::size_t rank, std::uint64_t& choice) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  for (std::size_t last = rank; last > 1; --last) {
    std::swap(order[last - 1], order[choice % last]);
    choice /= last;
  }
  return order;
}

}  // namespace

Strided spread(const moe4::Tensor& tensor, std::uint64_t choice) {
  const moe4::Shape& shape = tensor.shape();
  moe4::Shape strides(shape.size());
  std::int64_t reach = 1;   // elements that the axes so far span, gaps included
  std::int64_t origin = 0;  // where element [0,0,...] lies
  for (const std::size_t axis : axis_order(shape.size(), choice)) {
    const std::int64_t step = reach * static_cast<std::int64_t>(1 + choice % 3);
    const bool backwards = choice / 3 % 2 == 1;
    choice /= 6;
    const std::int64_t span = shape[axis] > 0 ? (shape[axis] - 1) * step : 0;
    strides[axis] = backwards ? -step : step;
    origin += backwards ? span : 0;
    reach += span;
  }
  const std::size_t size = moe4::size_of(tensor.dtype());
  Strided result;
  // As many bytes again behind it: who ignores the strides reads poison, not somebody else's memory.
  result.memory.assign(static_cast<std::size_t>(reach) * size + tensor.bytes(), std::byte{0xFF});
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    std::int64_t rest = n;
    std::int64_t place = origin;
    for (std::size_t axis = shape.size(); axis > 0; --axis) {
      place += rest % shape[axis - 1] * strides[axis - 1];
      rest /= shape[axis - 1];
    }
    std::memcpy(result.memory.data() + static_cast<std::size_t>(place) * size,
                tensor.data() + static_cast<std::size_t>(n) * size, size);
  }
  const std::byte* first = result.memory.data() + static_cast<std::size_t>(origin) * size;
  result.view = {tensor.dtype(), shape, first, strides};
  return result;
}

}  // namespace properties
