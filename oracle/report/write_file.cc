#include "oracle/report/write_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "oracle/file/atomic_file.h"
#include "oracle/file/open_file.h"

namespace moe4::oracle {

Status write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  if (Status status = file.write(text.data(), text.size())) return status;
  return file.commit();
}

Result<std::string> read_file(const std::filesystem::path& path, std::uintmax_t limit) {
  Result<OpenFile> file = OpenFile::open(path);
  if (!file.ok()) return file.error();
  if (file->size() > limit) {
    return Error{path.string(), std::to_string(file->size()) + " bytes",
                 "at most " + std::to_string(limit) + " bytes are read"};
  }
  std::string text(static_cast<std::size_t>(file->size()), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t got = read(file->get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, std::strerror(errno));
    if (got == 0) return unreadable(path, "shrank while it was read");
    done += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace moe4::oracle
