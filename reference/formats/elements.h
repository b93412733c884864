// Reads single elements of a strided TensorView of known rank. Indices are the caller's to keep in range.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/formats/float_format.h"
#include "reference/tensor.h"

namespace moe4 {

template <std::size_t kRank>
class Elements {
 public:
  using Index = std::array<std::int64_t, kRank>;

  // Precondition: view.rank() == kRank.
  explicit Elements(const TensorView& view)
      : dtype_(view.dtype), size_(size_of(view.dtype)), base_(static_cast<const std::byte*>(view.data)) {
    const Shape strides = view.strides_or_contiguous();
    for (std::size_t axis = 0; axis < kRank; ++axis) {
      byte_strides_[axis] = strides[axis] * static_cast<std::int64_t>(size_);
    }
  }

  // The encoding, zero-extended. Bytes are little-endian in memory, whatever the alignment.
  std::uint64_t bits(const Index& index) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < kRank; ++axis) offset += index[axis] * byte_strides_[axis];
    std::uint64_t word = 0;
    std::memcpy(&word, base_ + offset, size_);
    return word;
  }

  // Precondition: a float dtype.
  ExactValue value(const Index& index) const { return decode_float(format_of(dtype_), bits(index)); }

  // Precondition: I32 or I64.
  std::int64_t integer(const Index& index) const {
    const std::uint64_t word = bits(index);
    return dtype_ == Dtype::kI32 ? static_cast<std::int32_t>(word) : static_cast<std::int64_t>(word);
  }

 private:
  Dtype dtype_;
  std::size_t size_;
  const std::byte* base_;
  std::array<std::int64_t, kRank> byte_strides_{};
};

}  // namespace moe4
