// The built command in a folder of its own, for tests of what it says and writes.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "oracle/report/failure.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle {

struct Outcome {
  int code = -1;
  std::string out, err;
};

class CliCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) /
        (std::string("cli_") + testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() +
         "_" + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Outcome moe4(const std::vector<std::string>& arguments) const {
    std::string command = shell_word(MOE4_COMMAND);
    for (const std::string& argument : arguments) command += " " + shell_word(argument);
    command += " 2>" + shell_word(path("stderr"));
    Outcome outcome;
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    std::array<char, 4096> buffer;
    for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      outcome.out.append(buffer.data(), n);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    outcome.err = *read_file(path("stderr"));
    return outcome;
  }

  std::filesystem::path folder_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace moe4::oracle
