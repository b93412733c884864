// A regular file, open for reading (FILE-11). Opening never waits: a pipe is refused, not read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "reference/status.h"

namespace moe4::oracle {

Error unreadable(const std::filesystem::path& path, std::string why);

class OpenFile {
 public:
  static Result<OpenFile> open(const std::filesystem::path& path);
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  int get() const { return descriptor_; }
  std::uint64_t size() const { return size_; }  // when it was opened

 private:
  OpenFile(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}

  int descriptor_;
  std::uint64_t size_;
};

}  // namespace moe4::oracle
