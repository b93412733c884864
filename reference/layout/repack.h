// From any layout to any other of the same weight format, by the formulas: slow, and the norm for packers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/layout/weight_layout.h"

namespace moe4 {

// The tensors of one layout. Where the scales lie among the codes, `scales` is ignored, respectively empty.
struct WeightViews {
  TensorView codes;
  TensorView scales;
};
struct WeightTensors {
  Tensor codes;
  Tensor scales;

  WeightViews views() const { return {codes.view(), scales.view()}; }
};

// LAY-14: dtypes, ranks and shapes of the tensors are those of the layout for one legal extent; contiguous.
Result<WeightExtent> check_weights(const WeightLayout& layout, const WeightViews& weights);

// LAY-1: the same codes and scales at the places of `to`.
Result<WeightTensors> repack(const WeightLayout& from, const WeightLayout& to, const WeightViews& weights);

// From and to the logical layout of the weight format.
Result<WeightTensors> pack(const WeightLayout& to, const WeightViews& logical);
Result<WeightTensors> unpack(const WeightLayout& from, const WeightViews& packed);

// LAY-2 on the bytes of the tensor with the codes.
inline std::size_t byte_of(const WeightLayout& layout, const CodePlace& place) {
  return static_cast<std::size_t>(place.element) * size_of(layout.code_dtype) +
         static_cast<std::size_t>(place.nibble / 2);
}
inline unsigned get_code(const WeightLayout& layout, const std::byte* codes, const CodePlace& place) {
  return std::to_integer<unsigned>(codes[byte_of(layout, place)]) >> (place.nibble % 2 * 4) & 0xFu;
}
inline void put_code(const WeightLayout& layout, std::byte* codes, const CodePlace& place, unsigned code) {
  std::byte& byte = codes[byte_of(layout, place)];
  const int shift = place.nibble % 2 * 4;
  byte = (byte & ~(std::byte{0xF} << shift)) | static_cast<std::byte>(code << shift);
}

}  // namespace moe4
