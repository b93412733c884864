// SIGINT, SIGTERM and SIGKILL in the midst of a command.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "oracle/case/case.h"
#include "oracle/file/atomic_file.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Interrupt : public CliCommand {
 protected:
  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), MOE4_COMMAND);
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    dup2(open(path("stdout").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(path("stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execv(MOE4_COMMAND, words.data());
    _exit(127);
  }

  // Waits until the file is there and not empty: the command is at work.
  bool appears(const std::string& file) const {
    for (int n = 0; n < 3000; ++n) {
      std::error_code error;
      if (fs::file_size(file, error) > 0 && !error) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  Outcome end_of(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    Outcome outcome;
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    outcome.out = *read_file(path("stdout"));
    outcome.err = *read_file(path("stderr"));
    return outcome;
  }

  // A subject that says by a file that it runs, and then takes its time.
  std::vector<std::string> slow() const {
    EXPECT_FALSE(
        write_file(path("d"), R"({"schema": 1, "name": "slow", "op": "expert_linear", "weights": "mxfp4",
                                           "dtypes": ["bf16"], "profile": "once"})"));
    return {"--command", "sh -c 'echo x >" + path("begun") + "; exec sleep 60' {cases} {results}",
            "--declare", path("d")};
  }

  std::vector<std::string> with(std::vector<std::string> arguments,
                                const std::vector<std::string>& more) const {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(Interrupt, AGateReportsWhatWasDone) {
  for (const int number : {SIGINT, SIGTERM}) {
    fs::remove(path("begun"));
    const pid_t child = start(with({"gate", "--subject", "reference", "--report", "json=" + path("json"),
                                    "--report", "junit=" + path("junit"), "--report", "html=" + path("html")},
                                   slow()));
    ASSERT_TRUE(appears(path("begun")));
    kill(child, number);
    const Outcome outcome = end_of(child);
    EXPECT_EQ(outcome.code, 3) << outcome.out << outcome.err;
    const std::string words = number == SIGINT ? "interrupted by SIGINT" : "interrupted by SIGTERM";
    EXPECT_HAS(outcome.out, "INTERRUPTED: ");
    EXPECT_HAS(outcome.out, words);
    const nlohmann::json json = nlohmann::json::parse(*read_file(path("json")));
    EXPECT_EQ(json["interrupted"], words);
    EXPECT_EQ(json["exit_code"], 3);
    EXPECT_HAS(*read_file(path("junit")), words);
    EXPECT_HAS(*read_file(path("html")), words);
  }
}

TEST_F(Interrupt, RunAndFuzzEndAfterTheCaseInFlight) {
  constexpr const char* kLine =
      "op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=1 in=32 out=1 dtype=bf16";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", kLine}, {"fuzz", "--time", "50"}, {"shrink", kLine}}) {
    fs::remove(path("begun"));
    const pid_t child = start(with(arguments, slow()));
    ASSERT_TRUE(appears(path("begun"))) << arguments[0];
    const auto began = std::chrono::steady_clock::now();
    kill(child, SIGINT);
    EXPECT_EQ(end_of(child).code, 3) << arguments[0];
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s) << "it did not wait for the program";
  }
}

TEST_F(Interrupt, OtherCommandsEndAtOnceWithAMessage) {
  const pid_t child = start({"selftest"});
  std::this_thread::sleep_for(300ms);
  kill(child, SIGTERM);
  const Outcome outcome = end_of(child);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.err, "moe4: interrupted by SIGTERM; no file is half-written\n");
}

TEST_F(Interrupt, AKilledFuzzRunHasKeptWhatItFound) {
  const std::string examples = std::string(MOE4_SOURCE_DIR) + "/docs/examples/command/";
  const pid_t child =
      start({"fuzz", "--time", "60", "--regressions", path("found"), "--declare",
             examples + "numpy_subject.json", "--command",
             std::string(MOE4_TEST_PYTHON) + " -B " + examples + "numpy_wrong_nibbles.py {cases} {results}"});
  ASSERT_TRUE(appears(path("found")));
  kill(child, SIGKILL);
  EXPECT_EQ(end_of(child).code, -1);
  const Result<std::vector<Case>> lines = parse_case_list(*read_file(path("found")));
  ASSERT_TRUE(lines.ok()) << lines.error().message();
  EXPECT_EQ(lines->size(), 1u);
}

TEST(AtomicFile, WhatIsUnfinishedIsGoneAfterASignal) {
  const fs::path folder = fs::path(testing::TempDir()) / "unfinished";
  fs::remove_all(folder);
  fs::create_directories(folder);
  {
    AtomicFile first(folder / "a"), second(folder / "b");
    first.write("x", 1);
    EXPECT_FALSE(second.commit());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
    AtomicFile::remove_all_unfinished();
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "b stays";
    EXPECT_TRUE(fs::exists(folder / "b"));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace moe4::oracle
