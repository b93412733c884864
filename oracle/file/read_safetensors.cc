#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <new>

#include "oracle/file/safetensors.h"

namespace moe4::oracle {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // FILE-2

// Copies bytes [offset, offset + size) of the source, all of them, or returns an Error.
using Fetch = std::function<Status(std::uint64_t offset, std::size_t size, void* to)>;

Result<SafeTensors> read_from(std::uint64_t total, const Fetch& fetch) {
  if (total < kLengthBytes) {
    return Error{"file", std::to_string(total),
                 "FILE-1: a file begins with the 8 bytes of the header's length"};
  }
  unsigned char length_bytes[kLengthBytes];
  if (Status status = fetch(0, kLengthBytes, length_bytes)) return *status;
  std::uint64_t length = 0;
  for (std::size_t n = kLengthBytes; n-- > 0;) length = length << 8 | length_bytes[n];
  if (length > kMaxHeader || length > total - kLengthBytes) {
    return Error{"header", std::to_string(length),
                 "FILE-2: the header lies inside the file and has at most 100 MB"};
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  if (Status status = fetch(kLengthBytes, text.size(), text.data())) return *status;
  const std::uint64_t data_begin = kLengthBytes + length;
  Result<Header> header = parse_header(text, total - data_begin);
  if (!header) return header.error();

  SafeTensors file;
  file.metadata = std::move(header->metadata);
  for (const auto& [name, entry] : header->tensors) {
    Tensor tensor(entry.dtype, entry.shape);
    if (tensor.bytes() != 0) {
      if (Status status = fetch(data_begin + entry.begin, tensor.bytes(), tensor.data())) return *status;
    }
    file.tensors.emplace(name, std::move(tensor));
  }
  return file;
}

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Error file_error(const std::filesystem::path& path, int code) {
  return {path.string(), std::strerror(code), "FILE-11: the file can be read"};
}

}  // namespace

Result<SafeTensors> read_safetensors(const std::filesystem::path& path) {
  const OpenFile file(path);
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return file_error(path, errno);
  if (!S_ISREG(info.st_mode))
    return Error{path.string(), "not a regular file", "FILE-11: the file can be read"};
  const auto fetch = [&](std::uint64_t offset, std::size_t size, void* to) -> Status {
    for (std::size_t done = 0; done < size;) {
      const ssize_t got =
          pread(file.get(), static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(path, errno);
      if (got == 0) return Error{path.string(), "shrank while it was read", "FILE-11: the file can be read"};
      done += static_cast<std::size_t>(got);
    }
    return {};
  };
  try {
    return read_from(static_cast<std::uint64_t>(info.st_size), fetch);
  } catch (const std::bad_alloc&) {
    return file_error(path, ENOMEM);
  }
}

Result<SafeTensors> parse_safetensors(std::span<const std::byte> bytes) {
  return read_from(bytes.size(), [&](std::uint64_t offset, std::size_t size, void* to) -> Status {
    if (size != 0) std::memcpy(to, bytes.data() + offset, size);
    return {};
  });
}

}  // namespace moe4::oracle
