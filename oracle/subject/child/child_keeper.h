// The process between this one and a program: it adopts whatever the program leaves behind, in other sessions
// too, and ends all of it when the program has ended or when it is told to.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace moe4::oracle {

struct Kept {
  const char* program = nullptr;  // a path
  char* const* words = nullptr;   // its arguments, and a null pointer
  char* const* environment = nullptr;
  int log = -1;              // its stdout and stderr
  std::uint64_t output = 0;  // bytes that it may write into one file
  pid_t parent = 0;          // who forked the keeper
  int hold = -1;             // to be read; something to read, or its other end closed: end it all
  int begun = -1;            // gets the errno of a program that cannot be started; closed when it runs
  int ended = -1;            // gets the status of the program, as waitpid gives it, when all is over
};

// After a fork. Async-signal-safe calls only: the other process may have threads.
[[noreturn]] void keep(const Kept& kept);

}  // namespace moe4::oracle
