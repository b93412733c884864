#include "oracle/python/views.h"

#include <cstring>
#include <memory>
#include <optional>

#include "oracle/python/bindings.h"
#include "oracle/python/errors.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

using Code = nb::dlpack::dtype_code;

// The dtypes of the tensors of moe4, and E8M0 as the bytes that it is.
std::optional<Dtype> dtype_of(nb::dlpack::dtype type) {
  if (type.lanes != 1) return std::nullopt;
  switch (static_cast<Code>(type.code)) {
    case Code::UInt:
    case Code::Float8_E8M0FNU:
      return type.bits == 8 ? std::optional(Dtype::kU8) : std::nullopt;
    case Code::Int:
      if (type.bits == 32) return Dtype::kI32;
      return type.bits == 64 ? std::optional(Dtype::kI64) : std::nullopt;
    case Code::Bfloat:
      return type.bits == 16 ? std::optional(Dtype::kBF16) : std::nullopt;
    case Code::Float:
      if (type.bits == 16) return Dtype::kF16;
      if (type.bits == 32) return Dtype::kF32;
      return type.bits == 64 ? std::optional(Dtype::kF64) : std::nullopt;
    default:
      return std::nullopt;
  }
}

nb::dlpack::dtype storage_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kU8:
      return nb::dtype<std::uint8_t>();
    case Dtype::kI32:
      return nb::dtype<std::int32_t>();
    case Dtype::kI64:
      return nb::dtype<std::int64_t>();
    case Dtype::kBF16:
      return nb::dtype<std::uint16_t>();
    case Dtype::kF16:
      return {static_cast<std::uint8_t>(Code::Float), 16, 1};
    case Dtype::kF32:
      return nb::dtype<float>();
    case Dtype::kF64:
      return nb::dtype<double>();
  }
  return {};
}

constexpr int kCpu = 1;

// A view of `array`, which the caller calls `field`. as: "BF16" for encodings in 16-bit integers, "" for the
// array's own dtype.
View view_of(const std::string& field, nb::ndarray<nb::ro> array, const std::string& as) {
  if (array.device_type() != kCpu) {
    throw Refused{Error{field, "", "its memory is not the CPU's: copy it there first"}};
  }
  std::optional<Dtype> dtype = as.empty() ? dtype_of(array.dtype()) : dtype_from_name(as);
  if (!dtype || size_of(*dtype) * 8 != array.dtype().bits || array.dtype().lanes != 1) {
    throw Refused{Error{field, "", "its dtype is none of U8, I32, I64, BF16, F16, F32, F64"}};
  }
  return {std::move(array), *dtype};
}

template <class T>
nb::object vector_array(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t shape[] = {kept->size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), 1, shape, owner));
}

nb::object array_of(const Tensor& tensor, nb::handle owner, bool writable) {
  std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
  // NumPy wants an address even where there is nothing.
  static std::byte nothing[8];
  void* data = tensor.elements() == 0 ? nothing : const_cast<std::byte*>(tensor.data());
  if (writable) {
    return nb::cast(
        nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, storage_of(tensor.dtype())));
  }
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(data, shape.size(), shape.data(), owner, nullptr,
                                                 storage_of(tensor.dtype())));
}

}  // namespace

TensorView View::tensor() const {
  TensorView view;
  view.dtype = dtype;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    view.shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
    view.strides.push_back(array.stride(axis));
  }
  view.data = array.data();
  return view;
}

Tensor copy_of(const TensorView& view) {
  Tensor copy(view.dtype, view.shape);
  const std::size_t size = size_of(view.dtype);
  const auto* from = static_cast<const std::byte*>(view.data);
  if (view.is_contiguous()) {
    if (copy.bytes() > 0) std::memcpy(copy.data(), from, copy.bytes());
    return copy;
  }
  const Shape strides = view.strides_or_contiguous();
  for (std::int64_t n = 0; n < copy.elements(); ++n) {
    std::int64_t left = n, at = 0;
    for (std::size_t axis = view.rank(); axis-- > 0;) {
      at += left % view.dim(axis) * strides[axis];
      left /= view.dim(axis);
    }
    std::memcpy(copy.data() + static_cast<std::size_t>(n) * size, from + at * static_cast<std::int64_t>(size),
                size);
  }
  return copy;
}

nb::tuple to_python(Tensor tensor) {
  const std::string dtype(name_of(tensor.dtype()));
  auto* kept = new Tensor(std::move(tensor));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return nb::make_tuple(array_of(*kept, owner, true), dtype);
}

nb::tuple borrowed(const Tensor& tensor, nb::handle owner) {
  return nb::make_tuple(array_of(tensor, owner, false), std::string(name_of(tensor.dtype())));
}

nb::object bytes_array(std::vector<std::uint8_t> bytes) { return vector_array(std::move(bytes)); }
nb::object ids_array(std::vector<std::int64_t> values) { return vector_array(std::move(values)); }
nb::object ids_array(const std::vector<std::int32_t>& values) { return vector_array(values); }

void bind_views(nb::module_& m) {
  nb::class_<View>(m, "View", "A tensor of the caller, borrowed.")
      .def_prop_ro("dtype", [](const View& view) { return std::string(name_of(view.dtype)); })
      .def_prop_ro("shape", [](const View& view) { return view.tensor().shape; });
  m.def("view", &view_of, nb::arg("field"), nb::arg("array"), nb::arg("as_dtype") = "");
}

}  // namespace moe4::python
