#include "oracle/subject/child/work_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace moe4::oracle {

Result<WorkFolder> WorkFolder::make() {
  const char* chosen = std::getenv("TMPDIR");
  std::string name = std::string(chosen == nullptr || *chosen == 0 ? "/tmp" : chosen) + "/moe4-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return Error{name, "", std::string("cannot be made (TMPDIR says where): ") + std::strerror(errno)};
  }
  return WorkFolder(std::filesystem::path(name));
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

WorkFolder& WorkFolder::operator=(WorkFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

WorkFolder::~WorkFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace moe4::oracle
