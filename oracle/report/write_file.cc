#include "oracle/report/write_file.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <system_error>

namespace moe4::oracle {

Status write_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path partial = path;
  partial += ".partial-" + std::to_string(::getpid());
  {
    std::ofstream file(partial, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.flush();
    if (!file) {
      std::error_code ignored;
      std::filesystem::remove(partial, ignored);
      return Error{"file", path.string(), "cannot be written"};
    }
  }
  std::error_code error;
  std::filesystem::rename(partial, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    return Error{"file", path.string(), "cannot be written: " + error.message()};
  }
  return {};
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
