#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>

#include "oracle/file/open_file.h"
#include "oracle/file/safetensors.h"

namespace moe4::oracle {
namespace {

// Copies bytes [offset, offset + size) of the source, all of them, or returns an Error.
using Fetch = std::function<Status(std::uint64_t offset, std::size_t size, void* to)>;

Result<SafeTensors> read_from(std::uint64_t total, const Fetch& fetch) {
  std::array<std::byte, kHeaderBegin> first;
  const std::size_t there = static_cast<std::size_t>(std::min(total, kHeaderBegin));
  if (Status status = fetch(0, there, first.data())) return *status;
  Result<std::uint64_t> length = header_length(std::span(first.data(), there), total);
  if (!length) return length.error();
  std::string text(static_cast<std::size_t>(*length), '\0');
  if (Status status = fetch(kHeaderBegin, text.size(), text.data())) return *status;
  const std::uint64_t data_begin = kHeaderBegin + *length;
  Result<Header> header = parse_header(text, total - data_begin);
  if (!header) return header.error();

  SafeTensors file;
  file.metadata = std::move(header->metadata);
  for (const auto& [name, entry] : header->tensors) {
    Tensor tensor(*entry.dtype, entry.shape);
    if (tensor.bytes() != 0) {
      if (Status status = fetch(data_begin + entry.begin, tensor.bytes(), tensor.data())) return *status;
    }
    file.tensors.emplace(name, std::move(tensor));
  }
  return file;
}

}  // namespace

Result<std::uint64_t> header_length(std::span<const std::byte> first, std::uint64_t total) {
  constexpr std::uint64_t kMaxHeader = 100'000'000;
  if (first.size() < kHeaderBegin) {
    return Error{"file", std::to_string(total),
                 "FILE-1: a file begins with the 8 bytes of the header's length"};
  }
  std::uint64_t length = 0;
  for (std::size_t n = kHeaderBegin; n-- > 0;)
    length = length << 8 | std::to_integer<std::uint64_t>(first[n]);
  if (length <= kMaxHeader && length <= total - kHeaderBegin) return length;
  return Error{"header", std::to_string(length),
               "FILE-2: the header lies inside the file and has at most 100 MB"};
}

Result<SafeTensors> read_safetensors(const std::filesystem::path& path) {
  Result<OpenFile> file = OpenFile::open(path);
  if (!file) return file.error();
  const auto fetch = [&](std::uint64_t offset, std::size_t size, void* to) -> Status {
    for (std::size_t done = 0; done < size;) {
      const ssize_t got =
          pread(file->get(), static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return unreadable(path, std::strerror(errno));
      if (got == 0) return unreadable(path, "shrank while it was read");
      done += static_cast<std::size_t>(got);
    }
    return {};
  };
  try {
    return read_from(file->size(), fetch);
  } catch (const std::bad_alloc&) {
    return unreadable(path, std::strerror(ENOMEM));
  }
}

Result<SafeTensors> parse_safetensors(std::span<const std::byte> bytes) {
  return read_from(bytes.size(), [&](std::uint64_t offset, std::size_t size, void* to) -> Status {
    if (size != 0) std::memcpy(to, bytes.data() + offset, size);
    return {};
  });
}

}  // namespace moe4::oracle
