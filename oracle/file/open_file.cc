#include "oracle/file/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace moe4::oracle {

Error unreadable(const std::filesystem::path& path, std::string why) {
  return {path.string(), "", "FILE-11: cannot be read: " + std::move(why)};
}

Result<OpenFile> OpenFile::open(const std::filesystem::path& path) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), 0);
  struct stat info;
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &info) != 0)
    return unreadable(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return unreadable(path, "not a regular file");
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace moe4::oracle
