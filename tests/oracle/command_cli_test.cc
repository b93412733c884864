// moe4 run, gate, fuzz and shrink with --command: the examples in Python, and options that do not fit
// together.
#include <nlohmann/json.hpp>

#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

const std::string kExamples = std::string(MOE4_SOURCE_DIR) + "/docs/examples/command/";
const std::string kDeclaration = kExamples + "numpy_subject.json";

std::string python(const std::string& script) {
  return std::string(MOE4_TEST_PYTHON) + " -B " + kExamples + script + " {cases} {results}";
}

class CommandCli : public CliCommand {};

// A part of the smoke list: the example takes its time.
TEST_F(CommandCli, NumPyExamplePassesTheGate) {
  const Outcome outcome = moe4({"gate", "--command", python("numpy_subject.py"), "--declare", kDeclaration,
                                "--shard", "2/6", "--report", "json=" + path("json")});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const nlohmann::json report = nlohmann::json::parse(*read_file(path("json")));
  const nlohmann::json& subject = report["subjects"][0];
  EXPECT_EQ(subject["status"], "PASSED");
  EXPECT_GT(subject["cases"]["passed"], 20);
  EXPECT_EQ(subject["coverage"]["ops"].size(), 4u) << "expert_linear and indexed in both formats";
  EXPECT_GT(subject["coverage"]["pairs"], 256);
  EXPECT_GT(subject["coverage"]["int4_pairs"], 256);
}

constexpr const char* kMxfp4 =
    "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=exact8 seed=0x7";
constexpr const char* kInt4 =
    "op=indexed weights=int4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=exact8 seed=0x7";

TEST_F(CommandCli, WrongNibbleOrderIsFoundReplayedAndShrunk) {
  const std::string command = python("numpy_wrong_nibbles.py");
  const Outcome run = moe4({"run", kMxfp4, "--command", command, "--declare", kDeclaration});
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_HAS(run.out, "FAILED");
  EXPECT_HAS(run.out, " --command '" + command + "' --declare " + kDeclaration);
  EXPECT_EQ(moe4({"run", kInt4, "--command", command, "--declare", kDeclaration}).code, 0)
      << "that order is right";
  const Outcome shrink =
      moe4({"shrink", kMxfp4, "--command", command, "--declare", kDeclaration, "--time", "20"});
  EXPECT_EQ(shrink.code, 1) << shrink.err;
  EXPECT_HAS(shrink.out, "minimal case");
  EXPECT_HAS(shrink.out, "tokens=1 ");
  const Outcome fuzz = moe4({"fuzz", "--command", command, "--declare", kDeclaration, "--cases", "60",
                             "--time", "60", "--regressions", path("found")});
  EXPECT_EQ(fuzz.code, 1) << fuzz.out << fuzz.err;
  ASSERT_TRUE(std::filesystem::exists(path("found")));
  EXPECT_HAS(*read_file(path("found")), "weights=mxfp4");
}

TEST_F(CommandCli, ACrashIsCode4AndAMissingProgramToo) {
  EXPECT_EQ(moe4({"run", kMxfp4, "--command", "/no/such {cases} {results}", "--declare", kDeclaration}).code,
            4);
  const Outcome outcome = moe4(
      {"run", kMxfp4, "--command", "sh -c 'kill -SEGV $$' {cases} {results}", "--declare", kDeclaration});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_HAS(outcome.out, "signal 11");
}

TEST_F(CommandCli, OptionsThatDoNotFitAreCode2) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
    arguments.insert(arguments.begin(), {"run", kMxfp4});
    const Outcome outcome = moe4(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_HAS(outcome.err, why);
  };
  refused({"--command", "x {cases} {results}"}, "--declare");
  refused({"--declare", kDeclaration}, "--command");
  refused({"--command", "x", "--declare", kDeclaration}, "{cases}");
  refused({"--command", "x {cases} {results}", "--ptx", "y", "--declare", kDeclaration}, "at a time");
  refused({"--command", "x {cases} {results}", "--declare", path("none")}, path("none"));
  refused({"--command", "x {cases} {results}", "--declare", kDeclaration, "--limit-memory", "0"},
          "--limit-memory");
}

}  // namespace
}  // namespace moe4::oracle
