#include "oracle/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace moe4::oracle::cli {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Progress::Progress() : start_(Clock::now()), last_(start_), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(const std::string& text) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - start_ < 2s || now - last_ < 100ms) return;
  last_ = now;
  shown_ = true;
  // Cut to a line's width: a wrapped line could not be overwritten.
  fmt::print(stderr, "\r\033[K{:.110}", text);
  std::fflush(stderr);
}

}  // namespace moe4::oracle::cli
