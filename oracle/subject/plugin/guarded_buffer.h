// Memory whose surroundings cannot be touched unnoticed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moe4::oracle {

// `bytes` bytes, aligned to 64, that end as near to an inaccessible page as the alignment allows; another
// lies before them. Access to the pages ends the process; what is written into the slack between is seen by
// intact().
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes);  // throws std::bad_alloc
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  std::byte* data() { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool intact() const;

 private:
  std::byte *mapped_, *first_, *data_, *last_;  // first_ … last_: what can be accessed
  std::size_t bytes_, mapped_bytes_;
};

}  // namespace moe4::oracle
