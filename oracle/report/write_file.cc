#include "oracle/report/write_file.h"

#include <fstream>
#include <sstream>
#include <system_error>

#include "oracle/file/atomic_file.h"

namespace moe4::oracle {

Status write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  if (Status status = file.write(text.data(), text.size())) return status;
  return file.commit();
}

Result<std::string> read_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kLimit = std::uintmax_t{64} << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Error{"file", path.string(), "is no readable file"};
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kLimit) return Error{"file", path.string(), "is larger than 64 MiB"};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (size > 0) text << file.rdbuf();
  if (!file) return Error{"file", path.string(), "cannot be read"};
  return std::move(text).str();
}

}  // namespace moe4::oracle
