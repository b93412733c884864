#include "reference/layout/repack.h"

#include <cstring>
#include <new>

namespace moe4 {
namespace {

Status check_tensor(const std::string& name, const TensorView& tensor, Dtype dtype) {
  if (tensor.dtype != dtype) {
    return Error{name, std::string(name_of(tensor.dtype)), "LAY-14: dtype " + std::string(name_of(dtype))};
  }
  if (!tensor.is_contiguous()) return Error{name, to_string(tensor.shape), "LAY-14: contiguous"};
  if (tensor.data == nullptr) return Error{name, "null", "LAY-14: a tensor with elements has data"};
  return {};
}

// Where the scales of a layout begin.
template <class Bytes>
Bytes* scale_base(const WeightLayout& layout, Bytes* codes, Bytes* scales) {
  return layout.scales_among_codes() ? codes : scales;
}

}  // namespace

Result<WeightExtent> check_weights(const WeightLayout& layout, const WeightViews& weights) {
  const std::string of_layout = " in layout " + std::string(layout.name);
  const Error unfit{"packed_weights", to_string(weights.codes.shape),
                    "LAY-14: the shape of weights" + of_layout};
  if (!element_count(weights.codes.shape)) return unfit;
  const std::optional<WeightExtent> extent = layout.extent(weights.codes.shape);
  if (!extent) return unfit;
  if (Status status = check_extent(layout, *extent)) return *status;
  if (Status status = check_tensor("packed_weights", weights.codes, layout.code_dtype)) return *status;
  if (layout.scales_among_codes()) return *extent;
  const std::string scales(scale_tensor_name(layout));
  if (const Shape due = layout.scale_shape(*extent); weights.scales.shape != due) {
    return Error{scales, to_string(weights.scales.shape), "LAY-14: shape " + to_string(due) + of_layout};
  }
  if (Status status = check_tensor(scales, weights.scales, layout.scale_dtype)) return *status;
  return *extent;
}

Result<WeightTensors> repack(const WeightLayout& from, const WeightLayout& to, const WeightViews& weights) {
  if (from.weights != to.weights) {
    return Error{
        "layout", std::string(to.name),
        "LAY-1: a layout of " + std::string(from.weights) + ", as " + std::string(from.name) + " is"};
  }
  Result<WeightExtent> checked = check_weights(from, weights);
  if (!checked) return checked.error();
  const WeightExtent extent = *checked;
  if (Status status = check_extent(to, extent)) return *status;

  WeightTensors result;
  try {
    result.codes = Tensor(to.code_dtype, to.code_shape(extent));
    if (!to.scales_among_codes()) result.scales = Tensor(to.scale_dtype, to.scale_shape(extent));
  } catch (const std::bad_alloc&) {
    return Error{"weights", to_string(Shape{extent.experts, extent.out, extent.in}), "too large for memory"};
  }
  const auto* from_codes = static_cast<const std::byte*>(weights.codes.data);
  const auto* from_scales = scale_base(from, from_codes, static_cast<const std::byte*>(weights.scales.data));
  std::byte* to_codes = result.codes.data();
  std::byte* to_scales = scale_base(to, to_codes, result.scales.data());
  const std::size_t scale_bytes = size_of(from.scale_dtype);
  const bool large = extent.out * extent.in >= 1 << 16;  // per expert: worth waking threads
  // LAY-3: no byte belongs to two experts, so that threads never share one.
#pragma omp parallel for if (large)
  for (std::int64_t e = 0; e < extent.experts; ++e) {
    for (std::int64_t o = 0; o < extent.out; ++o) {
      for (std::int64_t i = 0; i < extent.in; ++i) {
        const unsigned code = get_code(from, from_codes, from.code_at(extent, e, o, i));
        put_code(to, to_codes, to.code_at(extent, e, o, i), code);
      }
      for (std::int64_t g = 0; g < extent.groups(); ++g) {
        const auto source = static_cast<std::size_t>(from.scale_at(extent, e, o, g)) * scale_bytes;
        const auto target = static_cast<std::size_t>(to.scale_at(extent, e, o, g)) * scale_bytes;
        std::memcpy(to_scales + target, from_scales + source, scale_bytes);
      }
    }
  }
  return result;
}

Result<WeightTensors> pack(const WeightLayout& to, const WeightViews& logical) {
  return repack(*logical_layout(to.weights), to, logical);
}

Result<WeightTensors> unpack(const WeightLayout& from, const WeightViews& packed) {
  return repack(from, *logical_layout(from.weights), packed);
}

}  // namespace moe4
