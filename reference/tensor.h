// Tensors at the API: a dtype, a shape, bytes. Row-major, little-endian, as in safetensors.
//
// TensorView borrows memory and may be strided; Tensor owns contiguous memory, zero-filled and
// committed page by page, so that a tensor of several GB that is mostly never touched costs little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4 {

// The dtypes that moe4 reads or writes, by their safetensors names. F8_E8M0 is read as U8 (FILE rules).
enum class Dtype : std::uint8_t { kU8, kI32, kI64, kBF16, kF16, kF32, kF64 };

std::size_t size_of(Dtype dtype);       // bytes an element
std::string_view name_of(Dtype dtype);  // "U8", "I32", "I64", "BF16", "F16", "F32", "F64"
std::optional<Dtype> dtype_from_name(std::string_view name);  // the inverse; any letter case
bool is_float(Dtype dtype);                                   // BF16, F16, F32, F64

using Shape = std::vector<std::int64_t>;

// The number of elements, or nullopt if a dimension is negative or the product exceeds 2^62 (VAL-6).
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);
std::string to_string(std::span<const std::int64_t> shape);  // "[2,3,16]"

// A borrowed tensor. strides are in elements; empty means row-major contiguous. Negative and zero
// strides are allowed for inputs. data may be null only if there are no elements.
struct TensorView {
  Dtype dtype = Dtype::kU8;
  Shape shape;
  const void* data = nullptr;
  Shape strides = {};

  std::size_t rank() const { return shape.size(); }
  std::int64_t dim(std::size_t axis) const { return shape[axis]; }
  Shape strides_or_contiguous() const;
  bool is_contiguous() const;
};

// A borrowed, writable, contiguous tensor.
struct MutableTensorView {
  Dtype dtype = Dtype::kU8;
  Shape shape;
  void* data = nullptr;

  operator TensorView() const { return {dtype, shape, data, {}}; }  // NOLINT: implicit on purpose
};

// An owned, contiguous, zero-filled tensor. Copies are deep.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Dtype dtype, Shape shape);  // precondition: element_count(shape) has a value
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  Dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(std::size_t axis) const { return shape_[axis]; }
  std::int64_t elements() const { return elements_; }
  std::size_t bytes() const { return static_cast<std::size_t>(elements_) * size_of(dtype_); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  // The elements as their encodings (uint8_t, uint16_t, int32_t, ...); sizeof(T) must equal size_of(dtype).
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(elements_)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(elements_)};
  }

  TensorView view() const { return {dtype_, shape_, data_.get(), {}}; }
  MutableTensorView mutable_view() { return {dtype_, shape_, data_.get()}; }

 private:
  struct Unmap {
    std::size_t mapped;  // 0: from calloc
    Unmap() : mapped(0) {}
    explicit Unmap(std::size_t bytes) : mapped(bytes) {}
    void operator()(std::byte* p) const noexcept;
  };
  static std::unique_ptr<std::byte[], Unmap> allocate(std::size_t bytes);

  Dtype dtype_ = Dtype::kU8;
  Shape shape_ = {0};
  std::int64_t elements_ = 0;
  std::unique_ptr<std::byte[], Unmap> data_;
};

}  // namespace moe4
