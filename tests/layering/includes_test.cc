// Who may include whom (docs/design.md, "The tree and who may know whom").
#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "tests/layering/source_tree.h"

namespace moe4::layering {
namespace {

// The first rule whose folder is a prefix of the file decides. `allowed` are prefixes of what it may include.
struct Rule {
  std::string folder;
  std::vector<std::string> allowed;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"reference/", {"reference/"}},
      {"gpu/ptx/", {"gpu/ptx/"}},
      {"gpu/", {"gpu/"}},
      {"oracle/subject/gpu/", {"oracle/", "reference/", "gpu/"}},
      {"oracle/cli/", {"oracle/", "reference/", "gpu/"}},
      {"oracle/python/", {"oracle/", "reference/"}},
      {"oracle/", {"oracle/", "reference/"}},
      {"tests/support/slow_model/", {"tests/support/slow_model/"}},
      {"tests/", {"tests/", "oracle/", "reference/", "gpu/"}},
  };
  return kRules;
}

// The complaint about one line of a file, if it has one.
std::optional<std::string> judge_include(const std::string& path, const std::string& line) {
  static const std::regex kQuoted(R"re(^\s*#\s*include\s*"([^"]+)")re");
  static const std::regex kSystem(R"re(^\s*#\s*include\s*<([^>]+)>)re");
  std::smatch m;
  if (std::regex_search(line, m, kSystem)) {
    const bool cuda = m[1].str().starts_with("cuda");
    const bool compares = path == "tests/gpu/cuda/abi_test.cc";  // our declarations with theirs
    if (cuda && !path.starts_with("gpu/") && !path.ends_with(".cu") && !compares)
      return path + " includes a CUDA header: " + m[1].str();
    return std::nullopt;
  }
  if (!std::regex_search(line, m, kQuoted)) return std::nullopt;
  const std::string target = m[1];
  for (const Rule& rule : rules()) {
    if (!path.starts_with(rule.folder)) continue;
    for (const std::string& prefix : rule.allowed) {
      if (!target.starts_with(prefix)) continue;
      const bool core_oracle = rule.folder == "oracle/";
      const bool leaves_core = target.starts_with("oracle/subject/gpu/") ||
                               target.starts_with("oracle/cli/") || target.starts_with("oracle/python/");
      if (core_oracle && leaves_core) return path + " may not include " + target;
      return std::nullopt;
    }
    return path + " may not include " + target;
  }
  return std::nullopt;
}

TEST(Layering, IncludesStayInsideTheirLayer) {
  int files = 0;
  for (const char* folder : {"reference", "gpu", "oracle", "tests"}) {
    for (const SourceFile& file : read_sources(folder, {".h", ".cc", ".cu", ".cuh", ".inc"})) {
      if (file.path.starts_with("tests/consumers/")) continue;  // they see installed headers only
      ++files;
      for (const std::string& line : file.lines) {
        const auto complaint = judge_include(file.path, line);
        EXPECT_FALSE(complaint.has_value()) << *complaint;
      }
    }
  }
  EXPECT_GT(files, 50) << "the source tree was not found";
}

// The Python package is built without some folders of the oracle; what it is built from must not need them.
TEST(Layering, WhatPythonIsBuiltFromIsWhole) {
  const std::regex setting(R"re(MOE4_ORACLE_WITHOUT "([^"]+)")re");
  std::string without;
  for (const std::string& line : read_source("oracle/python/CMakeLists.txt").lines) {
    std::smatch m;
    if (std::regex_search(line, m, setting)) without = "oracle/(" + m[1].str() + ")/";
  }
  ASSERT_NE(without, "");
  const std::regex left_out(without), include("#include \"" + without);
  int files = 0, needed = 0;
  for (const SourceFile& file : read_sources("oracle", {".h", ".cc"})) {
    const bool out = std::regex_search(file.path, left_out);
    const bool beside = file.path.starts_with("oracle/cli/") || file.path.starts_with("oracle/subject/gpu/");
    for (const std::string& line : file.lines) {
      if (!std::regex_search(line, include)) continue;
      ++needed;
      EXPECT_TRUE(out || beside) << file.path << ": " << line;
    }
    ++files;
  }
  EXPECT_GT(files, 50);
  EXPECT_GT(needed, 0) << "the folders that are left out are used by nobody?";
}

TEST(Layering, ForbiddenIncludesAreSeen) {
  EXPECT_TRUE(judge_include("reference/linear/x.cc", "#include \"oracle/case/case.h\""));
  EXPECT_TRUE(judge_include("reference/linear/x.cc", "#include \"gpu/ptx/ptx.h\""));
  EXPECT_TRUE(judge_include("gpu/launch/x.cc", "#include \"reference/tensor.h\""));
  EXPECT_TRUE(judge_include("gpu/ptx/x.cc", "#include \"gpu/device/device.h\""));
  EXPECT_TRUE(judge_include("oracle/judge/x.cc", "#include \"gpu/device/device.h\""));
  EXPECT_TRUE(judge_include("oracle/judge/x.cc", "#include \"oracle/subject/gpu/executor_subject.h\""));
  EXPECT_TRUE(judge_include("oracle/judge/x.cc", "#include \"oracle/python/views.h\""));
  EXPECT_TRUE(judge_include("oracle/python/x.cc", "#include \"gpu/ptx/ptx.h\""));
  EXPECT_TRUE(judge_include("oracle/judge/x.cc", "#include <cuda_runtime.h>"));
  EXPECT_TRUE(judge_include("tests/support/slow_model/x.cc", "#include \"reference/tensor.h\""));
  EXPECT_FALSE(judge_include("oracle/subject/gpu/x.cc", "#include \"gpu/device/device.h\""));
  EXPECT_FALSE(judge_include("oracle/judge/x.cc", "#include \"reference/tensor.h\""));
  EXPECT_FALSE(judge_include("reference/linear/x.cc", "#include <vector>"));
}

}  // namespace
}  // namespace moe4::layering
