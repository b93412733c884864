#include "oracle/subject/child/child_memory.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

// The second number of statm counts resident pages.
std::uint64_t own_bytes(const fs::path& folder) {
  std::ifstream file(folder / "statm");
  std::uint64_t all = 0, resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Each thread lists the processes that it started.
void add_children(const fs::path& folder, std::vector<pid_t>& found) {
  std::error_code error;
  for (fs::directory_iterator task(folder / "task", error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream file(task->path() / "children");
    for (pid_t child; file >> child;) found.push_back(child);
  }
}

}  // namespace

std::uint64_t resident_bytes_below(pid_t process) {
  std::uint64_t bytes = 0;
  std::vector<pid_t> open = {process};
  for (std::size_t n = 0; n < open.size() && n < 4096; ++n) {
    const fs::path folder = fs::path("/proc") / std::to_string(open[n]);
    if (n > 0) bytes += own_bytes(folder);
    add_children(folder, open);
  }
  return bytes;
}

}  // namespace moe4::oracle
