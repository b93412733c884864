// A program that may crash, hang, or eat all memory, run so that the process that runs it goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace moe4::oracle {

struct ChildLimits {
  std::chrono::duration<double> time{60};         // from one file in `watched` to the next, and to the first
  std::uint64_t memory = std::uint64_t{8} << 30;  // resident bytes of the child and of what it started
  std::uint64_t output = std::uint64_t{4} << 30;  // bytes of log and files in `watched`, and of any one file

  friend bool operator==(const ChildLimits&, const ChildLimits&) = default;
};

struct ChildEnd {
  enum class Kind { kExited, kSignal, kTimeout, kMemory, kOutput, kNotStarted, kStopped };
  Kind kind = Kind::kExited;
  int code = 0;  // kExited: the exit status; kSignal: which; kNotStarted: errno

  bool well() const { return kind == Kind::kExited && code == 0; }
};

struct ChildStart {
  std::vector<std::string> words;  // program, found as execvp does, and arguments
  // NAME=VALUE, beside what this process has, for names that it has not.
  std::vector<std::string> environment = {};
  std::filesystem::path watched;  // the folder of its results
  std::filesystem::path log;      // stdout and stderr
  ChildLimits limits;
  std::function<bool()> stop;  // asked all the time; true ends the child
};

// Runs it to its end. The child has an own process group, no core dump, and /dev/null as input. When it ends,
// or this process does, every process is killed that it has started and left behind, in other groups and
// sessions too (child_keeper.h).
ChildEnd run_child(const ChildStart& start);

// "killed by signal 11 (Segmentation fault)": what happened, for a report.
std::string words_of(const ChildEnd& end, const ChildLimits& limits);

}  // namespace moe4::oracle
