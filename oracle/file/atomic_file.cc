#include "oracle/file/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace moe4::oracle {
namespace {

// The temporary names of this process, where a signal handler can read them without a lock. A name too long
// for its slot, or a file when all slots are taken, is only not cleaned up after a signal.
struct Slot {
  std::atomic<bool> taken = false, set = false;
  char name[1024];
};
Slot slots[64];

void take_slot(const std::string& name) {
  if (name.size() >= sizeof Slot::name) return;
  for (Slot& slot : slots) {
    if (slot.taken.exchange(true)) continue;
    std::memcpy(slot.name, name.c_str(), name.size() + 1);
    slot.set = true;
    return;
  }
}

void give_back(const std::string& name) {
  for (Slot& slot : slots) {
    if (!slot.set || name != slot.name) continue;
    slot.set = false;
    slot.taken = false;
    return;
  }
}

}  // namespace

void AtomicFile::remove_all_unfinished() {
  for (Slot& slot : slots) {
    if (slot.set) unlink(slot.name);
  }
}

Status can_be_replaced(const std::filesystem::path& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    return Error{path.string(), "(no regular file)",
                 "FILE-13: only a regular file is replaced, never a device, a pipe, a folder or a link"};
  }
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return Error{path.string(), "",
               std::string("FILE-13: its folder cannot be written to: ") + std::strerror(errno)};
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  failed_ = can_be_replaced(path_);
  if (failed_) return;
  static std::atomic<unsigned> counter = 0;
  do {
    temporary_ = path_.string() + ".part-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
    take_slot(temporary_);  // before there is a file
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) give_back(temporary_);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ >= 0) return;
  const int code = errno;
  temporary_.clear();
  failed_ = fail(code);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  give_back(temporary_);
}

Status AtomicFile::fail(int code) {
  return Error{path_.string(), "",
               std::string("FILE-13: cannot be written, and nothing was: ") + std::strerror(code)};
}

Status AtomicFile::write(const void* data, std::size_t size) {
  constexpr std::size_t kLargestWrite = std::size_t{1} << 30;
  for (std::size_t done = 0; done < size && !failed_;) {
    const ssize_t put =
        ::write(descriptor_, static_cast<const char*>(data) + done, std::min(size - done, kLargestWrite));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      failed_ = fail(errno);
    } else {
      done += static_cast<std::size_t>(put);
    }
  }
  return failed_;
}

Status AtomicFile::commit() {
  if (failed_) return failed_;
  // Again, since it may have been made meanwhile.
  failed_ = can_be_replaced(path_);
  if (failed_) return failed_;
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    failed_ = fail(errno);
    return failed_;
  }
  give_back(temporary_);
  temporary_.clear();
  return {};
}

}  // namespace moe4::oracle
