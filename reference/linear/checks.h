// The checks of docs/spec/validation.md that all operations share, each over the fields of one call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/linear/expert_weights.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

// An input and what VAL-1 and VAL-2 want of it.
struct Field {
  std::string_view name;
  TensorView view;
  std::vector<std::size_t> ranks;
  std::vector<Dtype> dtypes;
};

inline const std::vector<Dtype> kFloatDtypes = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};

// The fields packed_weights and scale_bytes or scales.
Field packed_field(const ExpertWeights& weights);
Field scales_field(const ExpertWeights& weights);

Error refuse(std::string_view field, std::string value, std::string rule);

Status check_ranks(std::span<const Field> fields);   // VAL-1
Status check_dtypes(std::span<const Field> fields);  // VAL-2
Status check_width(std::int64_t in);                 // VAL-3
// VAL-4. letters: "[T,K]".
Status check_shape(std::string_view name, const TensorView& view, std::string_view letters,
                   const Shape& shape);
// VAL-4 for both weight tensors, for E and O from packed_weights and I from latent_tokens.
Status check_weight_shapes(const ExpertWeights& weights, std::int64_t in);
// VAL-6 for the inputs, then the output. An output that is not there yet has a null pointer.
Status check_sizes(std::span<const Field> fields, const TensorView& output);
Status check_no_overlap(std::span<const Field> fields, const TensorView& output);  // VAL-7
Status check_pointers(std::span<const Field> fields);                              // VAL-9
Status check_pointer(std::string_view name, const TensorView& view);               // VAL-9

// a·b for non-negative numbers, 2^63-1 if that is less: a dimension that no tensor has.
std::int64_t saturating_product(std::int64_t a, std::int64_t b);

}  // namespace moe4
