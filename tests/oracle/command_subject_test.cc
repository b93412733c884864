// Programs that crash, hang, eat memory, write nonsense: each is a status with a reason, and the run goes on.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "oracle/file/exchange_file.h"
#include "oracle/file/safetensors.h"
#include "oracle/gate/batches.h"
#include "oracle/gate/gate.h"
#include "oracle/generate/generate.h"
#include "oracle/subject/child/command_words.h"
#include "oracle/subject/command_subject.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

constexpr const char* kLine =
    "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=bits seed=0x7";

Declaration declared() {
  Declaration d = make_reference_subject()->declaration();
  d.name = "program";
  d.layouts.clear();
  return d;
}

// Long enough for a busy machine where nothing hangs.
CommandSettings strict(double seconds = 30) {
  CommandSettings settings;
  settings.limits.time = std::chrono::duration<double>(seconds);
  settings.limits.memory = std::uint64_t{400} << 20;
  settings.limits.output = std::uint64_t{16} << 20;
  return settings;
}

std::unique_ptr<Subject> program(const std::string& what, const CommandSettings& settings = strict()) {
  return make_command_subject({MOE4_MISBEHAVE, what, "{cases}", "{results}"}, declared(), "--command x",
                              settings);
}

struct Misdeed {
  const char* what;
  VerdictStatus status;
  const char* reason;  // a part of it
};

class CommandSubjectTest : public testing::TestWithParam<Misdeed> {};

TEST_P(CommandSubjectTest, BecomesAStatusWithAReasonAndTheRunGoesOn) {
  const Misdeed misdeed = GetParam();
  const bool hangs = misdeed.status == VerdictStatus::kTimeout;
  const std::unique_ptr<Subject> subject = program(misdeed.what, strict(hangs ? 1.5 : 30));
  const std::unique_ptr<Subject> healthy = program("nothing");
  Subject* const both[] = {subject.get(), healthy.get()};
  GateOptions options;
  const GateReport report = run_gate(both, {*parse_case(kLine)}, options);
  const Verdict& verdict = report.tallies[0].results[0].verdict;
  EXPECT_EQ(name_of(verdict.status), name_of(misdeed.status)) << verdict.reason;
  EXPECT_NE(verdict.reason.find(misdeed.reason), std::string::npos) << verdict.reason;
  EXPECT_EQ(verdict.reason.find('\033'), std::string::npos) << "a terminal would obey it";
  EXPECT_EQ(report.tallies[1].passed, 1) << report.tallies[1].results[0].verdict.reason;
}

constexpr auto kFailed = VerdictStatus::kFailed;
constexpr auto kCrashed = VerdictStatus::kCrashed;
INSTANTIATE_TEST_SUITE_P(
    All, CommandSubjectTest,
    testing::Values(Misdeed{"nothing", VerdictStatus::kPassed, ""},
                    Misdeed{"segfault", kCrashed, "signal 11"}, Misdeed{"abort", kCrashed, "signal 6"},
                    Misdeed{"hang", VerdictStatus::kTimeout, "no result within 1.5 s"},
                    Misdeed{"hang_deaf", VerdictStatus::kTimeout, "no result within 1.5 s"},
                    Misdeed{"memory", kCrashed, "used more than 400 MiB of memory"},
                    Misdeed{"memory_of_a_child", kCrashed, "used more than 400 MiB of memory"},
                    Misdeed{"memory_of_a_daemon", kCrashed, "used more than 400 MiB of memory"},
                    Misdeed{"leave_a_child", VerdictStatus::kPassed, ""},
                    Misdeed{"status3", kCrashed, "exit status 3; it said: this is why and \\x1b[31mred"},
                    Misdeed{"status3_at_the_end", kCrashed, "exit status 3"},
                    Misdeed{"flood", kCrashed, "wrote 16 MiB or more"},
                    Misdeed{"huge_output", kCrashed, "wrote 16 MiB or more"},
                    Misdeed{"silent", kFailed, "exit status 0, but wrote no result"},
                    Misdeed{"half", kFailed, "FILE-"}, Misdeed{"empty", kFailed, "FILE-1"},
                    Misdeed{"no_safetensors", kFailed, "FILE-2"},
                    Misdeed{"folder", kFailed, "not a regular file"},
                    Misdeed{"wrong_dtype", kFailed, "expected BF16 [3,5], got F16 [3,5]"},
                    Misdeed{"wrong_shape", kFailed, "expected BF16 [3,5], got BF16 [1,15]"},
                    Misdeed{"write_to_input", kFailed, "VER-7: an input was changed"},
                    Misdeed{"remove_input", kFailed, "VER-7: an input was changed"},
                    Misdeed{"says_inputs_changed", kFailed, "VER-7: an input was changed"},
                    Misdeed{"an_element_unwritten", kFailed, "VER-7: 1 outputs were not written"},
                    Misdeed{"another_case", kFailed, "FILE-19"},
                    Misdeed{"unsupported", VerdictStatus::kUnsupported, "no such tile"},
                    Misdeed{"failed", kFailed, "out of luck"}),
    [](const auto& tested) { return std::string(tested.param.what); });

// Left behind in a session of its own, where no signal to the program's group reaches it.
TEST(CommandSubject, DaemonsDoNotOutliveTheRun) {
  for (const char* what : {"leave_a_daemon", "hang_with_a_daemon"}) {
    const std::string file = testing::TempDir() + "pid_of_" + what;
    std::remove(file.c_str());
    ASSERT_EQ(setenv("MOE4_PID_FILE", file.c_str(), 1), 0);
    const bool hangs = std::string(what) == "hang_with_a_daemon";
    const std::unique_ptr<Subject> subject = program(what, strict(hangs ? 1.5 : 30));
    const CaseResult result = evaluate(*subject, *parse_case(kLine));
    unsetenv("MOE4_PID_FILE");
    EXPECT_EQ(name_of(result.verdict.status), hangs ? "TIMEOUT" : "PASSED") << result.verdict.reason;
    pid_t daemon = 0;
    std::ifstream(file) >> daemon;
    // One that the run was too short for was ended before it wrote.
    if (hangs) {
      ASSERT_GT(daemon, 0);
    }
    if (daemon > 0) {
      EXPECT_EQ(kill(daemon, 0), -1) << what;
      EXPECT_EQ(errno, ESRCH) << what;
    }
  }
}

// Nothing of a run is left when moe4 itself is killed, which has no time to do anything.
TEST(CommandSubject, NothingOutlivesAJudgeThatIsKilled) {
  const std::string file = testing::TempDir() + "pid_of_orphan";
  std::remove(file.c_str());
  const Result<CaseData> data = generate(*parse_case(kLine));
  ASSERT_TRUE(data.ok());
  const pid_t judge = fork();
  if (judge == 0) {
    setenv("MOE4_PID_FILE", file.c_str(), 1);
    program("hang_with_a_daemon")->run(*data);
    _exit(0);
  }
  ASSERT_GT(judge, 0);
  pid_t daemon = 0;
  for (int tenths = 0; tenths < 300 && daemon == 0; ++tenths) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::ifstream(file) >> daemon;
  }
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(kill(daemon, 0), 0);
  kill(judge, SIGKILL);
  waitpid(judge, nullptr, 0);
  for (int tenths = 0; tenths < 100 && kill(daemon, 0) == 0; ++tenths)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(kill(daemon, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(CommandSubject, GetsTheVariablesThatAreNotSet) {
  CommandSettings settings = strict();
  settings.environment = {"MOE4_ONE=1", "MOE4_TWO=2"};
  setenv("MOE4_TWO", "own", 1);
  const std::unique_ptr<Subject> subject =
      make_command_subject({"/bin/sh", "-c", "echo $MOE4_ONE $MOE4_TWO; exit 3", "{cases}", "{results}"},
                           declared(), "--command x", settings);
  EXPECT_NE(evaluate(*subject, *parse_case(kLine)).verdict.reason.find("it said: 1 own"), std::string::npos);
  unsetenv("MOE4_TWO");
}

TEST(CommandSubject, AMissingProgramIsACrashWithItsReason) {
  const auto subject =
      make_command_subject({"/no/such/program", "{cases}", "{results}"}, declared(), "", strict());
  const CaseResult result = evaluate(*subject, *parse_case(kLine));
  EXPECT_EQ(result.verdict.status, VerdictStatus::kCrashed);
  EXPECT_EQ(result.verdict.reason, "cannot be started: No such file or directory");
}

std::vector<Case> six_cases() {
  std::vector<Case> cases;
  for (std::int64_t n = 0; n < 6; ++n) {
    cases.push_back(*parse_case(kLine));
    cases.back().out = 5 + n;
  }
  return cases;
}

TEST(CommandSubject, OneCrashInAFolderIsTheCrashOfItsCaseOnly) {
  const std::unique_ptr<Subject> subject = program("seven_outputs_crash");
  Subject* const one[] = {subject.get()};
  const GateReport report = run_gate(one, six_cases(), {});
  ASSERT_EQ(report.tallies[0].results.size(), 6u);
  for (const CaseResult& result : report.tallies[0].results) {
    EXPECT_EQ(name_of(result.verdict.status), result.line.out == 7 ? "CRASHED" : "PASSED")
        << result.verdict.reason;
  }
  EXPECT_EQ(report.exit_code(), ExitCode::kCrashed);
}

TEST(CommandSubject, ProgramsThatAlwaysHangAreNotStartedForEver) {
  CommandSettings settings = strict();
  settings.limits.time = std::chrono::duration<double>(0.1);
  const std::unique_ptr<Subject> subject = program("hang", settings);
  Subject* const one[] = {subject.get()};
  const Tally& tally = run_gate(one, six_cases(), {}).tallies[0];
  EXPECT_EQ(tally.ran, 2) << "the folder took too long, then two cases of their own";
  EXPECT_EQ(tally.skipped, 4);
  EXPECT_EQ(tally.status, VerdictStatus::kTimeout);
  EXPECT_FALSE(tally.unmet.empty());
}

// Likes several cases at a time, and counts what it gets.
class Batching : public FakeSubject {
 public:
  Batching() : FakeSubject("batching") {}
  std::int64_t batch() const override { return 32; }
  void prepare(std::span<const CaseData* const> cases) override { prepared += cases.size(); }
  std::size_t prepared = 0;
};

// A folder of many cases is not filled to its end when somebody has asked to stop.
TEST(CommandSubject, AnInterruptEndsThePreparation) {
  const std::vector<Case> cases = six_cases();
  for (const int after : {0, 3, 1000}) {
    Batching subject;
    Subject* const one[] = {&subject};
    int asked = 0;
    std::size_t seen = 0;
    for_each_case(
        one, cases, [&] { return asked++ >= after; }, [&](const Case&, const CaseSource&) { ++seen; });
    EXPECT_EQ(seen, cases.size()) << "each is seen all the same: it is SKIPPED";
    EXPECT_EQ(subject.prepared, after == 0 ? 0U : after == 3 ? 3U : cases.size());
  }
  // While the cases of a start are written.
  int asked = 0;
  CommandSettings settings = strict();
  settings.stop = [&] { return ++asked > 3; };
  const std::unique_ptr<Subject> program_of_many = program("nothing", settings);
  std::vector<CaseData> data;
  for (const Case& line : cases) data.push_back(*generate(line));
  std::vector<const CaseData*> pointers;
  for (const CaseData& each : data) pointers.push_back(&each);
  program_of_many->prepare(pointers);
  EXPECT_EQ(asked, 4) << "it is asked before each case, and the program is not started";
}

TEST(CommandSubject, ASkippedCaseNeverMakesAGateGreen) {
  CommandSettings settings = strict();
  settings.stop = [] { return true; };
  const std::unique_ptr<Subject> subject = program("nothing", settings);
  Subject* const one[] = {subject.get()};
  const GateReport report = run_gate(one, six_cases(), {});
  EXPECT_EQ(report.tallies[0].skipped, 6);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

TEST(CommandSubject, ACaseWithALayoutHoldsPackedWeights) {
  const Case line = *parse_case(std::string(kLine) + " layout=gguf");
  Result<CaseData> data = generate(line);
  ASSERT_TRUE(data.ok()) << data.error().message();
  const std::string path = testing::TempDir() + "exchange.safetensors";
  ASSERT_FALSE(write_exchange_case(path, *data));
  const Result<SafeTensors> file = read_safetensors(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->metadata.at("moe4.layout"), "gguf");
  EXPECT_EQ(file->tensors.at("packed_weights").shape(), data->packed.codes.shape());
  EXPECT_EQ(file->tensors.count("scale_bytes"), 0u) << "in gguf they lie among the codes";
  EXPECT_TRUE(holds_exchange_case(path, *data));
  data->packed.codes.data()[0] ^= std::byte{1};
  EXPECT_FALSE(holds_exchange_case(path, *data));
}

TEST(CommandWords, AsAShellWouldSplitThemButNothingElse) {
  const auto words = command_words("prog 'a b'\"c \\\"d\" $HOME \\ x {cases}/in --out={results}");
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words,
            (std::vector<std::string>{"prog", "a bc \"d", "$HOME", " x", "{cases}/in", "--out={results}"}));
  EXPECT_EQ(with_folders(*words, "/c", "/r")[4], "/c/in");
  EXPECT_EQ(with_folders(*words, "/c", "/r")[5], "--out=/r");
  EXPECT_FALSE(command_words("prog {cases}").ok());
  EXPECT_FALSE(command_words("prog {results}").ok());
  EXPECT_FALSE(command_words("prog '{cases} {results}").ok());
  EXPECT_FALSE(command_words("").ok());
}

}  // namespace
}  // namespace moe4::oracle
