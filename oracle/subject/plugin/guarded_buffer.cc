#include "oracle/subject/plugin/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace moe4::oracle {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::byte kCanary{0xC5};

std::size_t rounded_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t bytes) : bytes_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t own = rounded_up(std::max<std::size_t>(bytes, 1), page);
  mapped_bytes_ = own + 2 * page;
  void* mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mapped_ = static_cast<std::byte*>(mapped);
  first_ = mapped_ + page;
  last_ = first_ + own;
  if (mprotect(first_, own, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped_, mapped_bytes_);
    throw std::bad_alloc();
  }
  data_ = last_ - rounded_up(bytes, kAlignment);
  std::fill(first_, data_, kCanary);
  std::fill(data_ + bytes_, last_, kCanary);
}

GuardedBuffer::~GuardedBuffer() { munmap(mapped_, mapped_bytes_); }

bool GuardedBuffer::intact() const {
  const auto canary = [](std::byte b) { return b == kCanary; };
  return std::all_of(first_, data_, canary) && std::all_of(static_cast<const std::byte*>(data_) + bytes_,
                                                           static_cast<const std::byte*>(last_), canary);
}

}  // namespace moe4::oracle
