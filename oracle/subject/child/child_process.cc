#include "oracle/subject/child/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

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

void limit(int resource, rlim_t value) {
  rlimit bound{};
  getrlimit(resource, &bound);
  bound.rlim_cur = std::min(value, bound.rlim_max);
  setrlimit(resource, &bound);
}

// In the child, up to the program: async-signal-safe calls only.
[[noreturn]] void become(const char* program, char* const* words, int log, pid_t parent, rlim_t output,
                         int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it ended before the line above
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, output);
  for (const int number : {SIGXFSZ, SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0) dup2(input, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(program, words);
  const int why = errno;
  [[maybe_unused]] const ssize_t told = write(report, &why, sizeof why);
  _exit(127);
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

// Until it ends or must be ended. 2 ms at first, so that a short run stays short.
ChildEnd wait_for(pid_t child, const ChildStart& start) {
  const Clock::time_point began = Clock::now();
  Clock::time_point last_sign = began, last_look = began;
  std::size_t files = 0;
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      // It may have written up to its last moment. Some programs take SIGXFSZ for an error of write() only.
      if (look_at(start).bytes >= start.limits.output) return {ChildEnd::Kind::kOutput, 0};
      if (WIFEXITED(status)) return {ChildEnd::Kind::kExited, WEXITSTATUS(status)};
      const int number = WTERMSIG(status);
      return {number == SIGXFSZ ? ChildEnd::Kind::kOutput : ChildEnd::Kind::kSignal, number};
    }
    if (start.stop && start.stop()) return {ChildEnd::Kind::kStopped, 0};
    const Clock::time_point now = Clock::now();
    if (now - last_look > 20ms) {
      last_look = now;
      if (resident_bytes(child) > start.limits.memory) return {ChildEnd::Kind::kMemory, 0};
      const Watched seen = look_at(start);
      if (seen.bytes >= start.limits.output) return {ChildEnd::Kind::kOutput, 0};
      if (seen.files != files) last_sign = now;
      files = seen.files;
      if (now - last_sign > start.limits.time) return {ChildEnd::Kind::kTimeout, 0};
    }
    std::this_thread::sleep_for(now - began < 200ms ? 2ms : 10ms);
  }
}

}  // namespace

ChildEnd run_child(const ChildStart& start) {
  if (start.words.empty()) return {ChildEnd::Kind::kNotStarted, ENOENT};
  const std::string program = find_program(start.words.front());
  std::vector<char*> words;
  for (const std::string& word : start.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return {ChildEnd::Kind::kNotStarted, errno};
  const int log = open(start.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = getpid();
  const pid_t child = log < 0 ? -1 : fork();
  if (child == 0) become(program.c_str(), words.data(), log, parent, start.limits.output, report[1]);
  const int forked = errno;
  if (log >= 0) close(log);
  close(report[1]);
  if (child < 0) {
    close(report[0]);
    return {ChildEnd::Kind::kNotStarted, forked};
  }
  setpgid(child, child);  // whoever comes first
  int why = 0;
  ssize_t told = 0;
  do {
    told = read(report[0], &why, sizeof why);  // ends with nothing when the program has begun
  } while (told < 0 && errno == EINTR);
  close(report[0]);

  ChildEnd end = wait_for(child, start);
  kill(-child, SIGKILL);
  const bool collected = end.kind == ChildEnd::Kind::kExited || end.kind == ChildEnd::Kind::kSignal;
  if (!collected) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (told == static_cast<ssize_t>(sizeof why)) return {ChildEnd::Kind::kNotStarted, why};
  return end;
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
