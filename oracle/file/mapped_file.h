// A file in memory that is read page by page as it is touched.
//
// Bytes of a mapped file that another process cuts off end this process when they are touched (SIGBUS):
// whoever reads much of it asks check_whole() shortly before.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "oracle/file/open_file.h"

namespace moe4::oracle {

class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, static_cast<std::size_t>(file_.size())}; }
  const std::filesystem::path& path() const { return path_; }
  Status check_whole() const;  // FILE-11: it is as long as when it was opened

 private:
  MappedFile(std::filesystem::path path, OpenFile file) : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  OpenFile file_;
  const std::byte* data_ = nullptr;  // null for an empty file
};

}  // namespace moe4::oracle
