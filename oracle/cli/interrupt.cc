#include "oracle/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "oracle/file/atomic_file.h"
#include "oracle/gate/exit_code.h"

namespace moe4::oracle::cli {
namespace {

volatile sig_atomic_t received = 0;
volatile sig_atomic_t finishing = 0;

void say(const char* text) {
  [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, text, std::strlen(text));
}

// Async-signal-safe calls only.
void on_signal(int number) {
  const bool first = received == 0;
  received = number;
  if (finishing != 0 && first) return;
  AtomicFile::remove_all_unfinished();
  say(number == SIGINT ? "moe4: interrupted by SIGINT" : "moe4: interrupted by SIGTERM");
  say("; no file is half-written\n");
  _exit(static_cast<int>(ExitCode::kUnmet));
}

}  // namespace

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void finish_case_when_interrupted() { finishing = 1; }

bool interrupted() { return received != 0; }

const char* interruption() {
  if (received == 0) return "";
  return received == SIGINT ? "interrupted by SIGINT" : "interrupted by SIGTERM";
}

}  // namespace moe4::oracle::cli
