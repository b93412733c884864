#include "gpu/device/cuda_buffers.h"

#include <algorithm>
#include <cstring>

namespace moe4::gpu {
namespace {

// Larger than any box or vector that a kernel moves at once, and a multiple of what tensor maps align to.
constexpr std::uint64_t kGuard = std::uint64_t{1} << 16;
constexpr std::byte guard_of(std::byte pattern) { return pattern ^ std::byte{0x3C}; }

constexpr std::uint64_t kChunk = std::uint64_t{1} << 26;  // of a comparison

}  // namespace

BufferId CudaBuffers::add(Kind kind, std::string name, std::uint64_t bytes, std::span<const std::byte> host) {
  Buffer buffer{kind, std::move(name), bytes};
  buffer.host = host;
  if (problem_.empty()) {
    const CudaDriver& driver = session_->driver();
    const CudaStatus status =
        session_->lost() ? cuda_status::kIllegalAddress : driver.allocate(&buffer.block, 2 * kGuard + bytes);
    if (status == cuda_status::kOutOfMemory) {
      std::size_t free = 0, total = 0;
      driver.memory_info(&free, &total);
      problem_ = "out of memory: " + buffer.name + " takes " + std::to_string(bytes) + " bytes, " +
                 std::to_string(free) + " of " + std::to_string(total) + " are free";
    } else if (status != cuda_status::kSuccess) {
      problem_ = buffer.name + " cannot be allocated: " + driver.words(status);
    }
    if (status != cuda_status::kSuccess) buffer.block = 0;
    buffer.address = buffer.block == 0 ? 0 : buffer.block + kGuard;
  }
  buffers_.push_back(std::move(buffer));
  return {static_cast<std::uint32_t>(buffers_.size() - 1)};
}

void CudaBuffers::clear() {
  for (const Buffer& buffer : buffers_) {
    if (buffer.block != 0 && !session_->lost()) session_->driver().release(buffer.block);
  }
  buffers_.clear();
  problem_.clear();
}

CudaStatus CudaBuffers::place(const Buffer& buffer, std::byte pattern) const {
  const CudaDriver& driver = session_->driver();
  for (const CudaAddress guard : {buffer.block, buffer.address + buffer.bytes}) {
    const auto byte = std::to_integer<unsigned char>(guard_of(pattern));
    if (const CudaStatus status = driver.fill(guard, byte, kGuard)) return status;
  }
  if (buffer.bytes == 0) return cuda_status::kSuccess;
  if (buffer.kind == Kind::kInput) return driver.to_device(buffer.address, buffer.host.data(), buffer.bytes);
  if (buffer.content.empty()) {
    const std::byte byte = buffer.kind == Kind::kOutput ? pattern : std::byte{0};
    return driver.fill(buffer.address, std::to_integer<unsigned char>(byte), buffer.bytes);
  }
  std::vector<std::byte> content = buffer.content;
  for (std::size_t n = 0; n < buffer.touched.size(); ++n) {
    if (!buffer.touched[n]) content[n] = pattern;
  }
  return driver.to_device(buffer.address, content.data(), content.size());
}

CudaStatus CudaBuffers::place(std::byte pattern) {
  for (const Buffer& buffer : buffers_) {
    if (const CudaStatus status = place(buffer, pattern); status != cuda_status::kSuccess) return status;
  }
  return cuda_status::kSuccess;
}

CudaStatus CudaBuffers::damage(std::byte pattern, std::vector<Damage>& found) const {
  const CudaDriver& driver = session_->driver();
  std::vector<std::byte> guard(kGuard), chunk;
  for (const Buffer& buffer : buffers_) {
    for (const bool before : {true, false}) {
      const CudaAddress at = before ? buffer.block : buffer.address + buffer.bytes;
      if (const CudaStatus status = driver.from_device(guard.data(), at, kGuard)) return status;
      const auto bad =
          std::find_if(guard.begin(), guard.end(), [&](std::byte b) { return b != guard_of(pattern); });
      if (bad == guard.end()) continue;
      const auto offset = static_cast<std::uint64_t>(bad - guard.begin());
      found.push_back({false, "a store " +
                                  (before ? std::to_string(kGuard - offset) + " bytes before the begin of "
                                          : std::to_string(offset) + " bytes behind the end of ") +
                                  buffer.name + " (" + std::to_string(buffer.bytes) + " bytes)"});
    }
    if (buffer.kind != Kind::kInput) continue;
    for (std::uint64_t done = 0; done < buffer.bytes; done += kChunk) {
      const std::uint64_t step = std::min(kChunk, buffer.bytes - done);
      chunk.resize(step);
      if (const CudaStatus status = driver.from_device(chunk.data(), buffer.address + done, step))
        return status;
      if (std::memcmp(chunk.data(), buffer.host.data() + done, step) == 0) continue;
      const auto bad =
          std::mismatch(chunk.begin(), chunk.end(), buffer.host.begin() + static_cast<std::ptrdiff_t>(done));
      const auto offset = done + static_cast<std::uint64_t>(bad.first - chunk.begin());
      found.push_back({true, "a store into the input " + buffer.name + ", byte " + std::to_string(offset)});
      break;
    }
  }
  return cuda_status::kSuccess;
}

CudaStatus CudaBuffers::contents(std::vector<std::vector<std::byte>>& to) const {
  to.clear();
  for (const Buffer& buffer : buffers_) {
    if (buffer.kind == Kind::kInput) continue;
    to.emplace_back(buffer.bytes);
    if (buffer.bytes == 0) continue;
    if (const CudaStatus status =
            session_->driver().from_device(to.back().data(), buffer.address, buffer.bytes)) {
      return status;
    }
  }
  return cuda_status::kSuccess;
}

void CudaBuffers::settle(const std::vector<std::vector<std::byte>>& first, std::byte first_pattern,
                         const std::vector<std::vector<std::byte>>& second, std::byte second_pattern) {
  std::size_t n = 0;
  for (Buffer& buffer : buffers_) {
    if (buffer.kind == Kind::kInput) continue;
    buffer.content = first[n];
    if (buffer.kind == Kind::kOutput) {
      buffer.touched.resize(buffer.bytes, false);
      for (std::size_t i = 0; i < buffer.bytes; ++i) {
        if (first[n][i] != first_pattern || second[n][i] != second_pattern) buffer.touched[i] = true;
      }
    }
    ++n;
  }
}

const std::string& CudaBuffers::writable_name(std::size_t n) const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.kind != Kind::kInput && n-- == 0) return buffer.name;
  }
  return problem_;
}

void CudaBuffers::read(BufferId buffer, std::span<std::byte> to) const {
  const Buffer& from = buffers_.at(buffer.index);
  const std::span<const std::byte> bytes = from.kind == Kind::kInput ? from.host : std::span(from.content);
  std::copy_n(bytes.begin(), std::min(bytes.size(), to.size()), to.begin());
}

std::vector<bool> CudaBuffers::written(BufferId buffer) const {
  const Buffer& from = buffers_.at(buffer.index);
  if (from.kind != Kind::kOutput) return {};
  return from.touched.empty() ? std::vector<bool>(from.bytes, false) : from.touched;
}

}  // namespace moe4::gpu
