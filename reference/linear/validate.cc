#include "reference/linear/validate.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/accumulate/exact_widths.h"
#include "reference/formats/elements.h"
#include "reference/formats/packed_codes.h"

namespace moe4 {
namespace {

__extension__ using Int128 = __int128;

// A tensor and what VAL-1 and VAL-2 want of it.
struct Field {
  std::string_view name;
  TensorView view;
  std::size_t rank;
  std::vector<Dtype> dtypes;
};

Error refuse(std::string_view field, std::string value, std::string rule) {
  return {std::string(field), std::move(value), std::move(rule)};
}

Status check_rank(const Field& field) {
  if (field.view.rank() == field.rank) return {};
  return refuse(field.name, "rank " + std::to_string(field.view.rank()),
                "VAL-1: the rank is " + std::to_string(field.rank));
}

Status check_dtype(const Field& field) {
  std::string names;
  for (const Dtype dtype : field.dtypes) {
    if (field.view.dtype == dtype) return {};
    if (!names.empty()) names += ", ";
    names += name_of(dtype);
  }
  return refuse(field.name, std::string(name_of(field.view.dtype)), "VAL-2: the dtype is one of " + names);
}

Status check_width(std::int64_t in) {
  if (in >= kGroupSize && in % kGroupSize == 0) return {};
  return refuse("latent_tokens", "I = " + std::to_string(in), "VAL-3: I is at least 32 and a multiple of 32");
}

Status check_shape(std::string_view name, const TensorView& view, std::string_view letters,
                   const Shape& shape) {
  if (view.shape == shape) return {};
  return refuse(name, to_string(view.shape),
                "VAL-4: the shape is " + std::string(letters) + " = " + to_string(shape));
}

Status check_output_dtype(const TensorView& output, Dtype dtype) {
  if (output.dtype == dtype) return {};
  return refuse("output", std::string(name_of(output.dtype)),
                "VAL-5: the output has the dtype of latent_tokens, " + std::string(name_of(dtype)));
}

// The bytes from the lowest to one past the highest that a tensor touches, relative to data. Precondition: at
// least one element, one stride an axis.
struct ByteExtent {
  Int128 begin = 0;
  Int128 end = 0;
};

ByteExtent byte_extent(const TensorView& view) {
  const auto size = static_cast<Int128>(size_of(view.dtype));
  const Shape strides = view.strides_or_contiguous();
  ByteExtent extent{0, size};
  for (std::size_t axis = 0; axis < view.rank(); ++axis) {
    const Int128 reach = Int128{strides[axis]} * (view.dim(axis) - 1) * size;
    (reach < 0 ? extent.begin : extent.end) += reach;
  }
  return extent;
}

Int128 address_of(const TensorView& view) {
  return static_cast<Int128>(reinterpret_cast<std::uintptr_t>(view.data));
}

Status check_size(std::string_view name, const TensorView& view) {
  const std::optional<std::int64_t> count = element_count(view.shape);
  if (!count) {
    return refuse(name, to_string(view.shape),
                  "VAL-6: no dimension is negative and there are at most 2^62 elements");
  }
  if (!view.strides.empty() && view.strides.size() != view.rank()) {
    return refuse(name, std::to_string(view.strides.size()) + " strides",
                  "VAL-6: strides have one entry an axis");
  }
  if (*count == 0) return {};
  const ByteExtent extent = byte_extent(view);
  const bool small_enough = extent.end - extent.begin <= std::numeric_limits<std::ptrdiff_t>::max();
  const bool in_range =
      view.data == nullptr || (address_of(view) + extent.begin >= 0 &&
                               address_of(view) + extent.end <= std::numeric_limits<std::uintptr_t>::max());
  if (small_enough && in_range) return {};
  return refuse(name, to_string(view.shape) + " strides " + to_string(view.strides_or_contiguous()),
                "VAL-6: the extent in bytes fits the address space");
}

Status check_product_count(const ExpertLinearDims& dims) {
  if (Int128{dims.in} * dims.top_k <= Int128{1} << kLog2Products) return {};
  return refuse("selected_experts", "I = " + std::to_string(dims.in) + ", K = " + std::to_string(dims.top_k),
                "VAL-6: I * K is at most 2^62");
}

Status check_no_overlap(const TensorView& output, const Field& input) {
  const TensorView& view = input.view;
  if (element_count(output.shape) == 0 || element_count(view.shape) == 0) return {};
  if (output.data == nullptr || view.data == nullptr) return {};
  const ByteExtent written = byte_extent(output);
  const ByteExtent read = byte_extent(view);
  const Int128 distance = address_of(view) - address_of(output);
  if (written.end <= distance + read.begin || distance + read.end <= written.begin) return {};
  return refuse("output", "shares memory with " + std::string(input.name),
                "VAL-7: the bytes of the output overlap those of no input");
}

Status check_ids(const TensorView& selected_experts, std::int64_t experts, const Policy& policy) {
  if (selected_experts.data == nullptr) return {};  // VAL-9 follows
  const Elements<2> ids(selected_experts);
  for (std::int64_t t = 0; t < selected_experts.dim(0); ++t) {
    for (std::int64_t j = 0; j < selected_experts.dim(1); ++j) {
      const std::int64_t id = ids.integer({t, j});
      if (id >= 0 && id < experts) continue;
      if (policy.ids == Ids::kAbsent && id == -1) continue;
      return refuse(
          "selected_experts",
          "token " + std::to_string(t) + ", slot " + std::to_string(j) + ", id " + std::to_string(id),
          "VAL-8: every id is in 0.." + std::to_string(experts - 1) +
              (policy.ids == Ids::kAbsent ? " or is -1" : ""));
    }
  }
  return {};
}

Status check_pointer(std::string_view name, const TensorView& view) {
  if (view.data != nullptr || element_count(view.shape) == 0) return {};
  return refuse(name, "null", "VAL-9: a data pointer is null only if the tensor has no elements");
}

ExpertLinearDims dims_of(const ExpertLinearInputs& inputs) {
  ExpertLinearDims dims;
  dims.tokens = inputs.latent_tokens.dim(0);
  dims.experts = inputs.packed_weights.dim(0);
  dims.in = inputs.latent_tokens.dim(1);
  dims.groups = dims.in / kGroupSize;
  dims.out = inputs.packed_weights.dim(1);
  dims.top_k = inputs.selected_experts.dim(1);
  return dims;
}

Status check_shapes(const std::array<Field, 6>& fields, const ExpertLinearDims& d) {
  const auto& [tokens, packed, scales, ids, weights, shared] = fields;
  Status error =
      check_shape(packed.name, packed.view, "[E,O,I/32,16]", {d.experts, d.out, d.groups, kGroupBytes});
  if (!error) error = check_shape(scales.name, scales.view, "[E,O,I/32]", {d.experts, d.out, d.groups});
  if (!error) error = check_shape(ids.name, ids.view, "[T,K]", {d.tokens, d.top_k});
  if (!error) error = check_shape(weights.name, weights.view, "[T,K]", {d.tokens, d.top_k});
  if (!error) error = check_shape(shared.name, shared.view, "[T,O]", {d.tokens, d.out});
  return error;
}

// output: null where there is none to check.
Result<ExpertLinearDims> validate(const ExpertLinearInputs& inputs, const MutableTensorView* output,
                                  const Policy& policy) {
  const std::vector<Dtype> floats = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  const std::array<Field, 6> fields = {
      {{"latent_tokens", inputs.latent_tokens, 2, floats},
       {"packed_weights", inputs.packed_weights, 4, {Dtype::kU8}},
       {"scale_bytes", inputs.scale_bytes, 3, {Dtype::kU8}},
       {"selected_experts", inputs.selected_experts, 2, {Dtype::kI32, Dtype::kI64}},
       {"mixture_weights", inputs.mixture_weights, 2, floats},
       {"shared_output", inputs.shared_output, 2, floats}}};
  for (const Field& field : fields) {
    if (Status error = check_rank(field)) return *error;
  }
  for (const Field& field : fields) {
    if (Status error = check_dtype(field)) return *error;
  }
  const ExpertLinearDims dims = dims_of(inputs);
  if (Status error = check_width(dims.in)) return *error;
  if (Status error = check_shapes(fields, dims)) return *error;
  if (output != nullptr) {
    if (Status error = check_shape("output", *output, "[T,O]", {dims.tokens, dims.out})) return *error;
    if (Status error = check_output_dtype(*output, inputs.latent_tokens.dtype)) return *error;
  }
  for (const Field& field : fields) {
    if (Status error = check_size(field.name, field.view)) return *error;
  }
  if (output != nullptr) {
    if (Status error = check_size("output", *output)) return *error;
  }
  if (Status error = check_product_count(dims)) return *error;
  if (output != nullptr) {
    for (const Field& field : fields) {
      if (Status error = check_no_overlap(*output, field)) return *error;
    }
  }
  if (Status error = check_ids(inputs.selected_experts, dims.experts, policy)) return *error;
  for (const Field& field : fields) {
    if (Status error = check_pointer(field.name, field.view)) return *error;
  }
  if (output != nullptr) {
    if (Status error = check_pointer("output", *output)) return *error;
  }
  return dims;
}

}  // namespace

Result<ExpertLinearDims> validate_mxfp4_expert_linear(const ExpertLinearInputs& inputs,
                                                      const Policy& policy) {
  return validate(inputs, nullptr, policy);
}

Result<ExpertLinearDims> validate_with_output(const ExpertLinearInputs& inputs,
                                              const MutableTensorView& output, const Policy& policy) {
  return validate(inputs, &output, policy);
}

}  // namespace moe4
