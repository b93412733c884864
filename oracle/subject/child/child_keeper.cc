#include "oracle/subject/child/child_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace moe4::oracle {
namespace {

void limit(int resource, rlim_t value) {
  rlimit bound{};
  getrlimit(resource, &bound);
  bound.rlim_cur = std::min(value, bound.rlim_max);
  setrlimit(resource, &bound);
}

void tell(int file, int value) { [[maybe_unused]] const ssize_t told = write(file, &value, sizeof value); }

// When memory is short the program goes, and not whoever judges it.
void be_first_to_be_killed_for_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t wrote = write(file, "1000", 4);
  close(file);
}

[[noreturn]] void become(const Kept& kept, pid_t keeper) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(127);  // it ended before the line above
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kept.output);
  be_first_to_be_killed_for_memory();
  for (const int number : {SIGXFSZ, SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0) dup2(input, STDIN_FILENO);
  dup2(kept.log, STDOUT_FILENO);
  dup2(kept.log, STDERR_FILENO);
  execve(kept.program, kept.words, kept.environment);
  tell(kept.begun, errno);
  _exit(127);
}

// Ends every child there is now; what these leave behind become children.
void kill_children() {
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[4096];
  pid_t child = 0;
  for (ssize_t got; (got = read(file, text, sizeof text)) > 0;) {
    for (ssize_t n = 0; n < got; ++n) {
      if (text[n] >= '0' && text[n] <= '9') {
        child = child * 10 + (text[n] - '0');
      } else if (child != 0) {
        kill(child, SIGKILL);
        child = 0;
      }
    }
  }
  if (child != 0) kill(child, SIGKILL);
  close(file);
}

void pause_briefly() {
  timespec moment = {0, 1000 * 1000};
  nanosleep(&moment, nullptr);
}

// `status` gets the program's, if it is collected here.
void end_all(pid_t program, int& status, bool& collected) {
  kill(-program, SIGKILL);
  constexpr int kRounds =
      5000;  // of a millisecond: what cannot be killed in that time is stuck in the kernel
  for (int round = 0; round < kRounds; ++round) {
    kill_children();
    pid_t ended = 0;
    int other = 0;
    while ((ended = waitpid(-1, &other, WNOHANG)) > 0) {
      if (ended != program) continue;
      status = other;
      collected = true;
    }
    if (ended < 0 && errno == ECHILD) return;
    pause_briefly();
  }
}

void on_child(int) {}

// What this process has open of the one that forked it would keep other children's pipes open.
void close_all_but(const Kept& kept) {
  rlimit open_files{};
  getrlimit(RLIMIT_NOFILE, &open_files);
  const int last = static_cast<int>(std::min<rlim_t>(open_files.rlim_cur, 4096));
  for (int file = STDERR_FILENO + 1; file < last; ++file) {
    if (file != kept.log && file != kept.hold && file != kept.begun && file != kept.ended) close(file);
  }
}

}  // namespace

void keep(const Kept& kept) {
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_IGN);
  struct sigaction wake {};
  wake.sa_handler = on_child;  // without SA_RESTART: it ends a poll()
  sigaction(SIGCHLD, &wake, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  close_all_but(kept);
  const pid_t self = getpid();
  if (getppid() != kept.parent) _exit(127);
  const pid_t program = _Fork();
  if (program == 0) become(kept, self);
  if (program < 0) {
    tell(kept.begun, errno);
    _exit(127);
  }
  setpgid(program, program);  // whoever comes first
  close(kept.begun);
  close(kept.log);
  int status = 0;
  bool collected = false;
  pollfd held = {kept.hold, POLLIN, 0};
  while (!collected) {
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    collected = ended == program;
    if (ended > 0) continue;
    if (poll(&held, 1, 5) > 0) break;  // 5 ms: a child may have ended between the two calls
  }
  end_all(program, status, collected);
  if (collected) tell(kept.ended, status);
  _exit(0);
}

}  // namespace moe4::oracle
