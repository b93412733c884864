// Tensors in and out of Python.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reference/tensor.h"

namespace moe4::python {

// A borrowed array of whoever made it, kept alive; nothing is copied. CPU memory, any strides of whole
// elements.
struct View {
  nanobind::ndarray<nanobind::ro> array;
  Dtype dtype = Dtype::kU8;

  TensorView tensor() const;
};

// A contiguous copy of a view.
Tensor copy_of(const TensorView& view);

// NumPy has no BF16 of its own: such an array holds its encodings as uint16, and the name of the dtype goes
// with it.
struct Array {
  nanobind::object array;
  std::string dtype;
};
nanobind::tuple to_python(Tensor tensor);
// The memory of a tensor that `owner` keeps alive; read-only.
nanobind::tuple borrowed(const Tensor& tensor, nanobind::handle owner);
nanobind::object bytes_array(std::vector<std::uint8_t> bytes);        // uint8 [n]
nanobind::object ids_array(std::vector<std::int64_t> values);         // int64 [n]
nanobind::object ids_array(const std::vector<std::int32_t>& values);  // int32 [n]

// f() while other Python threads run. It must touch no Python object.
template <class F>
auto without_gil(const F& f) {
  const nanobind::gil_scoped_release release;
  return f();
}

}  // namespace moe4::python
