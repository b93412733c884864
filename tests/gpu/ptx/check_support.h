// Test support for planted faults: a kernel that must trip a check, and its twin that must not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/ptx/ptx_kernel.h"

namespace moe4::ptx::test {

// A buffer of a trial, in the order of the kernel's leading u64 parameters.
struct Buffer {
  enum class Kind { kInput, kOutput, kZeroed } kind;
  std::string name;
  std::uint64_t bytes;
};
inline Buffer input(std::string name, std::uint64_t bytes) {
  return {Buffer::Kind::kInput, std::move(name), bytes};
}
inline Buffer output(std::string name, std::uint64_t bytes) {
  return {Buffer::Kind::kOutput, std::move(name), bytes};
}
inline Buffer zeroed(std::string name, std::uint64_t bytes) {
  return {Buffer::Kind::kZeroed, std::move(name), bytes};
}

struct Trial {
  std::string text;
  std::vector<Buffer> buffers;
  Dim3 grid{1, 1, 1}, block{32, 1, 1};
  std::uint32_t dynamic_shared = 0;
  Options options{};
  std::optional<Dim3> cluster{};
};

// Parses, allocates and launches; input buffers hold the bytes 0, 1, 2, …
LaunchReport run(const Trial& trial);

// The report has a finding of this kind at the line of `marker`, and no finding of another kind.
// A place given must be the finding's block and thread.
Finding expect_finding(const Trial& trial, const LaunchReport& report, Check check, std::string_view marker,
                       std::optional<Dim3> block = {}, std::optional<Dim3> thread = {});
// One side of the race is at `first`, the other at `second`, in either order; both sides name places.
Finding expect_race(const Trial& trial, const LaunchReport& report, Check check, std::string_view first,
                    std::string_view second);

// Findings as text, in order: what two runs are compared by.
std::vector<std::string> as_text(const LaunchReport& report);

}  // namespace moe4::ptx::test
