#include "oracle/subject/child/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "oracle/subject/child/child_keeper.h"
#include "oracle/subject/child/child_memory.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// As execvp, but before the fork: after it only few functions may be called in a process with threads.
std::string find_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return word;
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  while (true) {
    const std::size_t colon = folders.find(':');
    const std::string folder(folders.substr(0, colon));
    const std::string program = (folder.empty() ? "." : folder) + "/" + word;
    if (access(program.c_str(), X_OK) == 0 && !fs::is_directory(program)) return program;
    if (colon == std::string_view::npos) return word;
    folders.remove_prefix(colon + 1);
  }
}

struct Watched {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

Watched look_at(const ChildStart& start) {
  Watched seen;
  std::error_code error;
  const std::uintmax_t log = fs::file_size(start.log, error);
  if (!error) seen.bytes = log;
  for (fs::directory_iterator entry(start.watched, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const std::uintmax_t size = entry->file_size(gone);
    if (gone) continue;
    ++seen.files;
    seen.bytes += size;
  }
  return seen;
}

// Pointers to the texts, for exec, with a null pointer behind the last.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_of(const ChildStart& start) {
  std::vector<std::string> all;
  for (char** own = environ; own != nullptr && *own != nullptr; ++own) all.emplace_back(*own);
  for (const std::string& more : start.environment) {
    if (std::getenv(more.substr(0, more.find('=')).c_str()) == nullptr) all.push_back(more);
  }
  return all;
}

struct Pipe {
  int read = -1, write = -1;

  bool make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  void close_read() { close_end(read); }
  void close_write() { close_end(write); }

 private:
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

// Nothing: the other end was closed, or is.
std::optional<int> read_int(int file) {
  int value = 0;
  ssize_t got = 0;
  do {
    got = read(file, &value, sizeof value);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof value) ? std::optional<int>(value) : std::nullopt;
}

ChildEnd ended_with(int status, const ChildStart& start) {
  // It may have written up to its last moment. Some programs take SIGXFSZ for an error of write() only.
  if (look_at(start).bytes >= start.limits.output) return {ChildEnd::Kind::kOutput, 0};
  if (WIFEXITED(status)) return {ChildEnd::Kind::kExited, WEXITSTATUS(status)};
  const int number = WTERMSIG(status);
  return {number == SIGXFSZ ? ChildEnd::Kind::kOutput : ChildEnd::Kind::kSignal, number};
}

// Until the keeper ends or must be told to. 2 ms at first, so that a short run stays short.
std::optional<ChildEnd> wait_for(pid_t keeper, const ChildStart& start, int& status) {
  const Clock::time_point began = Clock::now();
  Clock::time_point last_sign = began, last_look = began;
  std::size_t files = 0;
  bool near_limit = false;
  while (true) {
    if (waitpid(keeper, &status, WNOHANG) == keeper) return std::nullopt;
    if (start.stop && start.stop()) return ChildEnd{ChildEnd::Kind::kStopped, 0};
    const Clock::time_point now = Clock::now();
    if (now - last_look > (near_limit ? 2ms : 20ms)) {
      last_look = now;
      const std::uint64_t resident = resident_bytes_below(keeper);
      if (resident > start.limits.memory) return ChildEnd{ChildEnd::Kind::kMemory, 0};
      near_limit = resident > start.limits.memory / 2;
      const Watched seen = look_at(start);
      if (seen.bytes >= start.limits.output) return ChildEnd{ChildEnd::Kind::kOutput, 0};
      if (seen.files != files) last_sign = now;
      files = seen.files;
      if (now - last_sign > start.limits.time) return ChildEnd{ChildEnd::Kind::kTimeout, 0};
    }
    std::this_thread::sleep_for(near_limit || now - began < 200ms ? 2ms : 10ms);
  }
}

// It has been told to end all; one that is stopped or stuck is ended itself, and the program with it.
void collect(pid_t keeper) {
  const Clock::time_point told = Clock::now();
  while (waitpid(keeper, nullptr, WNOHANG) == 0) {
    if (Clock::now() - told > 10s) kill(keeper, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

ChildEnd run_child(const ChildStart& start) {
  if (start.words.empty()) return {ChildEnd::Kind::kNotStarted, ENOENT};
  const std::string program = find_program(start.words.front());
  const std::vector<char*> words = pointers_to(start.words);
  const std::vector<std::string> variables = environment_of(start);
  const std::vector<char*> environment = pointers_to(variables);

  Pipe hold, begun, ended;
  if (!hold.make() || !begun.make() || !ended.make()) return {ChildEnd::Kind::kNotStarted, errno};
  const int log = open(start.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  const Kept kept = {program.c_str(), words.data(), environment.data(), log,        start.limits.output,
                     getpid(),        hold.read,    begun.write,        ended.write};
  const pid_t keeper = log < 0 ? -1 : fork();
  if (keeper == 0) keep(kept);
  const int forked = errno;
  if (log >= 0) close(log);
  hold.close_read();
  begun.close_write();
  ended.close_write();
  if (keeper < 0) return {ChildEnd::Kind::kNotStarted, forked};
  const std::optional<int> why = read_int(begun.read);  // ends with nothing when the program has begun

  int status = 0;
  std::optional<ChildEnd> end = wait_for(keeper, start, status);
  if (end) {
    [[maybe_unused]] const ssize_t told = write(hold.write, "", 1);
    collect(keeper);
  }
  if (why) return {ChildEnd::Kind::kNotStarted, *why};
  if (end) return *end;
  const std::optional<int> own = read_int(ended.read);
  return ended_with(own ? *own : status, start);
}

std::string words_of(const ChildEnd& end, const ChildLimits& limits) {
  const auto mib = [](std::uint64_t bytes) {
    return fmt::format("{:g} MiB", static_cast<double>(bytes) / (1 << 20));
  };
  switch (end.kind) {
    case ChildEnd::Kind::kExited:
      return fmt::format("ended with exit status {}", end.code);
    case ChildEnd::Kind::kSignal:
      return fmt::format("killed by signal {} ({})", end.code, strsignal(end.code));
    case ChildEnd::Kind::kTimeout:
      return fmt::format("no result within {:g} s", limits.time.count());
    case ChildEnd::Kind::kMemory:
      return "used more than " + mib(limits.memory) + " of memory";
    case ChildEnd::Kind::kOutput:
      return "wrote " + mib(limits.output) + " or more";
    case ChildEnd::Kind::kNotStarted:
      return fmt::format("cannot be started: {}", std::strerror(end.code));
    case ChildEnd::Kind::kStopped:
      return "interrupted";
  }
  return "";
}

}  // namespace moe4::oracle
