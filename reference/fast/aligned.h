// Memory for the kernels.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace moe4::fast {

// Aligned to a cache line, without initial values.
template <class T>
class Aligned {
 public:
  // At least that many elements; keeps nothing if it has to grow.
  T* resize(std::int64_t elements) {
    if (elements <= capacity_) return data_.get();
    data_.reset();
    capacity_ = 0;
    constexpr std::size_t kLine = 64;
    const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(T) + kLine - 1) / kLine * kLine;
    data_.reset(static_cast<T*>(std::aligned_alloc(kLine, bytes)));
    if (data_ == nullptr) throw std::bad_alloc();
    capacity_ = elements;
    return data_.get();
  }
  T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<T[], Free> data_;
  std::int64_t capacity_ = 0;
};

}  // namespace moe4::fast
