#include "gpu/ptx/memory/sparse_bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace moe4::ptx {
namespace {

// Below this size the C heap is quicker than a mapping of its own.
constexpr std::uint64_t kMappedFrom = std::uint64_t{1} << 20;

}  // namespace

SparseBytes::SparseBytes(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes < kMappedFrom) {
    data_ = static_cast<std::byte*>(std::calloc(std::max<std::uint64_t>(bytes, 1), 1));
    return;
  }
  void* mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  data_ = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

SparseBytes::~SparseBytes() {
  if (data_ == nullptr) return;
  if (bytes_ < kMappedFrom) {
    std::free(data_);
  } else {
    munmap(data_, bytes_);
  }
}

SparseBytes::SparseBytes(SparseBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SparseBytes& SparseBytes::operator=(SparseBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void SparseBytes::clear() {
  if (data_ == nullptr) return;
  if (bytes_ < kMappedFrom) {
    std::memset(data_, 0, bytes_);
  } else {
    madvise(data_, bytes_, MADV_DONTNEED);
  }
}

}  // namespace moe4::ptx
