// The buffers of a case on a GPU, each between two guards of known bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/device/cuda_session.h"
#include "gpu/device/device.h"

namespace moe4::gpu {

class CudaBuffers {
 public:
  enum class Kind { kInput, kOutput, kZeroed };

  // The session outlives the buffers.
  explicit CudaBuffers(CudaSession& session) : session_(&session) {}
  ~CudaBuffers() { clear(); }
  CudaBuffers(const CudaBuffers&) = delete;
  CudaBuffers& operator=(const CudaBuffers&) = delete;

  // A buffer that the device has no room for is there all the same, and problem() says so.
  BufferId add(Kind kind, std::string name, std::uint64_t bytes, std::span<const std::byte> host);
  void clear();

  CudaAddress address(BufferId buffer) const { return buffers_.at(buffer.index).address; }
  const std::string& problem() const { return problem_; }

  // Before a run: every byte of an output that no earlier launch wrote holds the pattern; guards another one
  // that goes with it, so that a copied guard is no unwritten byte; all else what it should hold.
  CudaStatus place(std::byte pattern);

  // After it. A guard that changed, or an input: a sentence each, naming buffer and byte.
  struct Damage {
    bool input = false;
    std::string text;
  };
  CudaStatus damage(std::byte pattern, std::vector<Damage>& found) const;

  // What the writable buffers hold, one after another.
  CudaStatus contents(std::vector<std::vector<std::byte>>& to) const;

  // Two runs of one launch, with a pattern each: a byte that holds each time the run's pattern was not
  // written. What is written, and the bytes of the first run, become the buffers' contents.
  void settle(const std::vector<std::vector<std::byte>>& first, std::byte first_pattern,
              const std::vector<std::vector<std::byte>>& second, std::byte second_pattern);

  const std::string& writable_name(std::size_t n) const;  // of writable buffer n

  void read(BufferId buffer, std::span<std::byte> to) const;  // as settled
  std::vector<bool> written(BufferId buffer) const;           // empty for inputs and zeroed buffers

 private:
  struct Buffer {
    Kind kind = Kind::kInput;
    std::string name;
    std::uint64_t bytes = 0;
    CudaAddress block = 0, address = 0;    // with the guards, without
    std::span<const std::byte> host = {};  // kInput
    std::vector<std::byte> content = {};   // as the last launch left it; empty before the first
    std::vector<bool> touched = {};        // kOutput: written by a launch
  };
  CudaStatus place(const Buffer& buffer, std::byte pattern) const;

  CudaSession* session_;
  std::vector<Buffer> buffers_;
  std::string problem_;
};

}  // namespace moe4::gpu
