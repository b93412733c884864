// A folder of this process alone, gone when it is done with it.
#pragma once

#include <filesystem>

#include "reference/status.h"

namespace moe4::oracle {

class WorkFolder {
 public:
  // In TMPDIR, or /tmp.
  static Result<WorkFolder> make();
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&& other) noexcept;
  ~WorkFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace moe4::oracle
