#include "oracle/file/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace moe4::oracle {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  Result<OpenFile> file = OpenFile::open(path);
  if (!file) return file.error();
  MappedFile mapped(path, std::move(*file));
  const std::size_t size = mapped.bytes().size();
  if (size == 0) return mapped;
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, mapped.file_.get(), 0);
  if (data == MAP_FAILED) return unreadable(path, std::strerror(errno));
  mapped.data_ = static_cast<const std::byte*>(data);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), bytes().size());
}

Status MappedFile::check_whole() const {
  struct stat info;
  if (fstat(file_.get(), &info) != 0) return unreadable(path_, std::strerror(errno));
  if (static_cast<std::uint64_t>(info.st_size) >= file_.size()) return {};
  return unreadable(path_, "shrank while it was read");
}

}  // namespace moe4::oracle
