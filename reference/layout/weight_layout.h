// Where every code and every scale of a weight tensor lies, layout by layout (docs/spec/layouts.md).
//
// Logical coordinates are the same everywhere: expert e in [0,E), output row o in [0,O), input column i in
// [0,I), group g = i/32. A layout is a pair of formulas from these to places in one or two tensors. It moves
// codes and scales and never changes a bit of them (LAY-1).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

// E, O and I of weights [E,O,I].
struct WeightExtent {
  std::int64_t experts = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;

  std::int64_t groups() const { return in / 32; }
  friend bool operator==(const WeightExtent&, const WeightExtent&) = default;
};

// LAY-2: nibble n of an element is bits 4n to 4n+3 of its value.
struct CodePlace {
  std::int64_t element = 0;
  int nibble = 0;
};

struct WeightLayout {
  std::string_view name;         // "indexed_mma"
  std::string_view weights;      // "mxfp4" or "int4"
  std::string_view description;  // one line
  Dtype code_dtype = Dtype::kU8;
  Dtype scale_dtype = Dtype::kU8;
  std::int64_t out_multiple = 1;  // O and I are multiples of these (LAY-4)
  std::int64_t in_multiple = 32;

  // The shape of the tensor with the codes, and back: its last dimensions to E, O, I, or nullopt if no
  // weights have this shape. Multiples are not looked at.
  Shape (*code_shape)(const WeightExtent&) = nullptr;
  std::optional<WeightExtent> (*extent)(std::span<const std::int64_t> code_shape) = nullptr;
  // The shape of the tensor with the scales; null if the scales lie among the codes.
  Shape (*scale_shape)(const WeightExtent&) = nullptr;

  // The formulas. Coordinates lie inside the extent, and the extent is legal.
  CodePlace (*code_at)(const WeightExtent&, std::int64_t e, std::int64_t o, std::int64_t i) = nullptr;
  // The element of the tensor with the scales, or of the one with the codes if there is no other.
  std::int64_t (*scale_at)(const WeightExtent&, std::int64_t e, std::int64_t o, std::int64_t g) = nullptr;

  bool scales_among_codes() const { return scale_shape == nullptr; }
};

std::span<const WeightLayout* const> weight_layouts();          // all, in the order of docs/spec/layouts.md
const WeightLayout* find_weight_layout(std::string_view name);  // null if there is none
// The layout of a case's own tensors: row_major for "mxfp4", compressed_tensors for "int4"; null for others.
const WeightLayout* logical_layout(std::string_view weights);

// LAY-14: "scale_bytes" or "scales".
std::string_view scale_tensor_name(const WeightLayout& layout);

// LAY-4: E, O, I are 1 or more, in the multiples of the layout, and E·O·I is at most 2^62.
Status check_extent(const WeightLayout& layout, const WeightExtent& extent);

}  // namespace moe4
