// A file that appears whole or not at all: written under another name in the same folder, then renamed
// (FILE-13).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "reference/status.h"

namespace moe4::oracle {

// Whether an AtomicFile of this name could appear: for a check before long work. An Error if the name is
// taken by anything but a regular file, or the folder cannot be written to.
Status can_be_replaced(const std::filesystem::path& path);

class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  // without commit() nothing remains

  // Remembers the first failure; write and commit after it do nothing and return it.
  Status write(const void* data, std::size_t size);
  Status commit();

  // Removes what is unfinished in this whole process: for the handler of a signal that ends it.
  static void remove_all_unfinished();

 private:
  Status fail(int code);

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  Status failed_;
};

}  // namespace moe4::oracle
