#include "tests/gpu/ptx/check_support.h"

#include <gtest/gtest.h>

namespace moe4::ptx::test {
namespace {

const Finding kNone{};

}  // namespace

LaunchReport run(const Trial& trial) {
  const Module module = parse_valid(trial.text);
  Memory memory;
  Arguments arguments;
  std::vector<std::vector<std::byte>> inputs(trial.buffers.size());
  for (std::size_t i = 0; i < trial.buffers.size(); ++i) {
    const Buffer& buffer = trial.buffers[i];
    switch (buffer.kind) {
      case Buffer::Kind::kInput:
        for (std::uint64_t k = 0; k < buffer.bytes; ++k) inputs[i].push_back(static_cast<std::byte>(k));
        arguments.u64(memory.add_input(buffer.name, inputs[i]));
        break;
      case Buffer::Kind::kOutput:
        arguments.u64(memory.add_output(buffer.name, buffer.bytes));
        break;
      case Buffer::Kind::kZeroed:
        arguments.u64(memory.add_zeroed(buffer.name, buffer.bytes));
        break;
    }
  }
  return launch(
      module, memory,
      Launch{"kernel", trial.grid, trial.block, trial.dynamic_shared, arguments.bytes(), trial.cluster},
      trial.options);
}

Finding expect_finding(const Trial& trial, const LaunchReport& report, Check check, std::string_view marker,
                       std::optional<Dim3> block, std::optional<Dim3> thread) {
  EXPECT_FALSE(report.error.has_value()) << describe(report);
  const Finding* found = nullptr;
  const int line = line_of(trial.text, marker);
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(name_of(finding.check), name_of(check)) << to_string(finding);
    if (finding.check == check && finding.place.ptx_line == line && !found) found = &finding;
  }
  if (!found) {
    ADD_FAILURE() << "no " << name_of(check) << " at line " << line << "; the report:\n" << describe(report);
    return kNone;
  }
  EXPECT_EQ(found->kernel, "kernel");
  EXPECT_FALSE(found->message.empty());
  EXPECT_EQ(found->message.find('\n'), std::string::npos) << found->message;
  EXPECT_FALSE(found->place.instruction.empty());
  EXPECT_GE(found->count, 1u);
  const std::string text = to_string(*found);
  EXPECT_NE(text.find(name_of(check)), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(line)), std::string::npos) << text;
  const auto say = [](const Dim3& d) {
    return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
  };
  if (block) {
    EXPECT_EQ(say(found->place.block), say(*block)) << text;
  }
  if (thread) {
    EXPECT_EQ(say(found->place.thread), say(*thread)) << text;
  }
  return *found;
}

Finding expect_race(const Trial& trial, const LaunchReport& report, Check check, std::string_view first,
                    std::string_view second) {
  EXPECT_FALSE(report.error.has_value()) << describe(report);
  const int a = line_of(trial.text, first), b = line_of(trial.text, second);
  const Finding* found = nullptr;
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(name_of(finding.check), name_of(check)) << to_string(finding);
    if (finding.check != check || !finding.other || found) continue;
    const int here = finding.place.ptx_line, there = finding.other->ptx_line;
    if ((here == a && there == b) || (here == b && there == a)) found = &finding;
  }
  if (!found) {
    ADD_FAILURE() << "no " << name_of(check) << " between lines " << a << " and " << b << "; the report:\n"
                  << describe(report);
    return kNone;
  }
  EXPECT_EQ(found->kernel, "kernel");
  // … but with what it has started and not waited for.
  EXPECT_FALSE(found->message.find("pending") == std::string::npos &&
               found->place.block == found->other->block && found->place.thread == found->other->thread)
      << "a thread does not race with itself: " << to_string(*found);
  return *found;
}

std::vector<std::string> as_text(const LaunchReport& report) {
  std::vector<std::string> lines;
  for (const Finding& finding : report.findings) lines.push_back(to_string(finding));
  return lines;
}

}  // namespace moe4::ptx::test
