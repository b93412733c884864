#include "reference/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <new>

namespace moe4 {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::size_t size;
  bool floating;
};

constexpr std::array kDtypes = {
    DtypeRow{Dtype::kU8, "U8", 1, false},   DtypeRow{Dtype::kI32, "I32", 4, false},
    DtypeRow{Dtype::kI64, "I64", 8, false}, DtypeRow{Dtype::kBF16, "BF16", 2, true},
    DtypeRow{Dtype::kF16, "F16", 2, true},  DtypeRow{Dtype::kF32, "F32", 4, true},
    DtypeRow{Dtype::kF64, "F64", 8, true},
};

const DtypeRow& row_of(Dtype dtype) { return kDtypes[static_cast<std::size_t>(dtype)]; }

// From this size on memory is mapped without reservation, so that untouched pages cost nothing.
constexpr std::size_t kMapThreshold = std::size_t{1} << 24;

Shape contiguous_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size(), 1);
  // In unsigned arithmetic: a tensor without elements may have dimensions whose product leaves int64.
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    const auto product = static_cast<std::uint64_t>(strides[axis]) * static_cast<std::uint64_t>(shape[axis]);
    strides[axis - 1] = static_cast<std::int64_t>(product);
  }
  return strides;
}

}  // namespace

std::size_t size_of(Dtype dtype) { return row_of(dtype).size; }
std::string_view name_of(Dtype dtype) { return row_of(dtype).name; }
bool is_float(Dtype dtype) { return row_of(dtype).floating; }

std::optional<Dtype> dtype_from_name(std::string_view name) {
  const auto same = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; };
  for (const DtypeRow& row : kDtypes) {
    if (std::equal(name.begin(), name.end(), row.name.begin(), row.name.end(), same)) return row.dtype;
  }
  return std::nullopt;
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; })) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t d : shape) {
    if (count > kLimit / d) return std::nullopt;
    count *= d;
  }
  return count;
}

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis != 0) text += ",";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

Shape TensorView::strides_or_contiguous() const {
  return strides.empty() ? contiguous_strides(shape) : strides;
}

bool TensorView::is_contiguous() const {
  return strides.empty() || element_count(shape) == 0 || strides == contiguous_strides(shape);
}

void Tensor::Unmap::operator()(std::byte* p) const noexcept {
  if (mapped != 0) {
    munmap(p, mapped);
  } else {
    std::free(p);
  }
}

std::unique_ptr<std::byte[], Tensor::Unmap> Tensor::allocate(std::size_t bytes) {
  if (bytes < kMapThreshold) {
    // An allocation of at least one byte, so that data() of an empty tensor is a valid pointer.
    void* p = std::calloc(std::max<std::size_t>(bytes, 1), 1);
    if (p == nullptr) throw std::bad_alloc();
    return {static_cast<std::byte*>(p), Unmap{}};
  }
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(p), Unmap{bytes}};
}

Tensor::Tensor(Dtype dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      elements_(element_count(shape_).value()),
      data_(allocate(bytes())) {}

Tensor::Tensor(const Tensor& other) : Tensor(other.dtype_, other.shape_) {
  if (elements_ != 0) std::memcpy(data_.get(), other.data_.get(), bytes());
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

}  // namespace moe4
