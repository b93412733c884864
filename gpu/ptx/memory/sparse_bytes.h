// Zeroed memory that takes host memory only for the pages that are touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moe4::ptx {

class SparseBytes {
 public:
  SparseBytes() = default;
  explicit SparseBytes(std::uint64_t bytes);
  ~SparseBytes();
  SparseBytes(SparseBytes&& other) noexcept;
  SparseBytes& operator=(SparseBytes&& other) noexcept;

  // nullptr when the host refused the address range.
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }
  void clear();  // all zeros again

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace moe4::ptx
