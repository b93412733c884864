// House rules that can be read off the text: libraries do not print or abort, links in docs lead somewhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <regex>
#include <string>

#include "tests/layering/source_tree.h"

namespace moe4::layering {
namespace {

// What a library may not do, if this line does it.
std::optional<std::string> forbidden_call(const std::string& line) {
  static const std::regex kForbidden(
      R"((std::cout|std::cerr|[^sn:_a-z]printf\s*\(|[^:_a-z]abort\s*\(|std::abort|[^:_a-z.]exit\s*\(|std::exit|[^_a-z]assert\s*\(|std::rand|[^_a-z]rand\s*\(|_distribution<))");
  std::smatch m;
  const std::string code = " " + code_of(line);
  if (std::regex_search(code, m, kForbidden)) return m[1].str();
  return std::nullopt;
}

TEST(HouseRules, LibrariesNeitherPrintNorAbort) {
  for (const char* folder : {"reference", "gpu", "oracle"}) {
    for (const SourceFile& file : read_sources(folder, {".h", ".cc"})) {
      if (file.path.starts_with("oracle/cli/")) continue;
      for (std::size_t i = 0; i < file.lines.size(); ++i) {
        const auto call = forbidden_call(file.lines[i]);
        EXPECT_FALSE(call) << file.path << ":" << i + 1 << ": " << *call;
      }
    }
  }
}

TEST(HouseRules, ForbiddenCallsAreSeen) {
  EXPECT_TRUE(forbidden_call("  std::cout << 1;"));
  EXPECT_TRUE(forbidden_call("  printf(\"x\");"));
  EXPECT_TRUE(forbidden_call("  assert(x);"));
  EXPECT_TRUE(forbidden_call("  abort();"));
  EXPECT_TRUE(forbidden_call("  std::uniform_int_distribution<int> d;"));
  EXPECT_FALSE(forbidden_call("  static_assert(x);"));
  EXPECT_FALSE(forbidden_call("  std::snprintf(b, n, \"x\");"));
  EXPECT_FALSE(forbidden_call("  // printf(\"x\")"));
}

TEST(HouseRules, LinksInDocsLeadSomewhere) {
  static const std::regex kLink(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  const std::filesystem::path root = MOE4_SOURCE_DIR;
  auto files = read_sources("docs", {".md"});
  files.push_back(read_source("README.md"));
  for (const SourceFile& file : files) {
    for (const std::string& line : file.lines) {
      for (std::sregex_iterator it(line.begin(), line.end(), kLink), end; it != end; ++it) {
        const auto target = (root / file.path).parent_path() / (*it)[1].str();
        EXPECT_TRUE(std::filesystem::exists(target)) << file.path << " links to " << (*it)[1];
      }
    }
  }
}

}  // namespace
}  // namespace moe4::layering
