#include "reference/linear/checks.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "reference/formats/packed_codes.h"
#include "reference/formats/packed_words.h"

namespace moe4 {
namespace {

__extension__ using Int128 = __int128;

Status check_rank(const Field& field) {
  std::string ranks;
  for (const std::size_t rank : field.ranks) {
    if (field.view.rank() == rank) return {};
    if (!ranks.empty()) ranks += " or ";
    ranks += std::to_string(rank);
  }
  return refuse(field.name, "rank " + std::to_string(field.view.rank()), "VAL-1: the rank is " + ranks);
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

bool overlap(const TensorView& output, const TensorView& view) {
  if (element_count(output.shape) == 0 || element_count(view.shape) == 0) return false;
  if (output.data == nullptr || view.data == nullptr) return false;
  const ByteExtent written = byte_extent(output);
  const ByteExtent read = byte_extent(view);
  const Int128 distance = address_of(view) - address_of(output);
  return distance + read.begin < written.end && written.begin < distance + read.end;
}

}  // namespace

Error refuse(std::string_view field, std::string value, std::string rule) {
  return {std::string(field), std::move(value), std::move(rule)};
}

Field packed_field(const ExpertWeights& weights) {
  if (weights.format == WeightFormat::kMxfp4) {
    return {"packed_weights", weights.packed_weights, {4}, {Dtype::kU8}};
  }
  return {"packed_weights", weights.packed_weights, {3}, {Dtype::kI32}};  // INT-7
}

Field scales_field(const ExpertWeights& weights) {
  const Dtype dtype = weights.format == WeightFormat::kMxfp4 ? Dtype::kU8 : Dtype::kBF16;
  return {weights.scales_name(), weights.scales, {3}, {dtype}};
}

Status check_ranks(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (Status error = check_rank(field)) return error;
  }
  return {};
}

Status check_dtypes(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (Status error = check_dtype(field)) return error;
  }
  return {};
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

Status check_weight_shapes(const ExpertWeights& weights, std::int64_t in) {
  const TensorView& packed = weights.packed_weights;
  const std::int64_t experts = packed.dim(0);
  const std::int64_t out = packed.dim(1);
  const std::int64_t groups = in / kGroupSize;
  const bool mxfp4 = weights.format == WeightFormat::kMxfp4;
  Status error =
      mxfp4 ? check_shape("packed_weights", packed, "[E,O,I/32,16]", {experts, out, groups, kGroupBytes})
            : check_shape("packed_weights", packed, "[E,O,I/8]", {experts, out, in / kCodesPerWord});
  if (error) return error;
  return check_shape(weights.scales_name(), weights.scales, "[E,O,I/32]", {experts, out, groups});
}

Status check_sizes(std::span<const Field> fields, const TensorView& output) {
  for (const Field& field : fields) {
    if (Status error = check_size(field.name, field.view)) return error;
  }
  return check_size("output", output);
}

Status check_no_overlap(std::span<const Field> fields, const TensorView& output) {
  for (const Field& field : fields) {
    if (!overlap(output, field.view)) continue;
    return refuse("output", "shares memory with " + std::string(field.name),
                  "VAL-7: the bytes of the output overlap those of no input");
  }
  return {};
}

Status check_pointer(std::string_view name, const TensorView& view) {
  if (view.data != nullptr || element_count(view.shape) == 0) return {};
  return refuse(name, "null", "VAL-9: a data pointer is null only if the tensor has no elements");
}

Status check_pointers(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (Status error = check_pointer(field.name, field.view)) return error;
  }
  return {};
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::numeric_limits<std::int64_t>::max();
  return result;
}

}  // namespace moe4
