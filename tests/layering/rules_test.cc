// docs/spec against the code: no rule without code, no citation of a rule that does not exist.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/layering/source_tree.h"

namespace moe4::layering {
namespace {

const std::regex& citation() {
  static const std::regex kCitation(
      R"(\b(FMT|INT|LIN|RTE|COR|VAL|CASE|DATA|FILE|BND|VER|LAY|ACC|PRO|CKP)-([0-9]+)\b)");
  return kCitation;
}

// Rule id -> file that states it.
std::map<std::string, std::string> stated_rules() {
  static const std::regex kRule(
      R"(^\*\*((FMT|INT|LIN|RTE|COR|VAL|CASE|DATA|FILE|BND|VER|LAY|ACC|PRO|CKP)-[0-9]+)\*\*)");
  std::map<std::string, std::string> rules;
  for (const SourceFile& file : read_sources("docs/spec", {".md"})) {
    for (const std::string& line : file.lines) {
      std::smatch m;
      if (!std::regex_search(line, m, kRule)) continue;
      EXPECT_FALSE(rules.contains(m[1])) << m[1] << " is stated twice";
      rules[m[1]] = file.path;
    }
  }
  return rules;
}

// "VAL-1 … VAL-9" and "LIN-1 to LIN-7" cite their ends; ranges are not expanded.
std::map<std::string, std::string> cited_rules(const std::vector<std::string>& folders) {
  std::map<std::string, std::string> cited;
  for (const std::string& folder : folders) {
    for (const SourceFile& file : read_sources(folder, {".h", ".cc", ".cu", ".cuh", ".md", ".inc"})) {
      if (file.path == "tests/layering/rules_test.cc") continue;
      for (const std::string& line : file.lines) {
        for (std::sregex_iterator it(line.begin(), line.end(), citation()), end; it != end; ++it) {
          cited.emplace(it->str(), file.path);
        }
      }
    }
  }
  return cited;
}

TEST(Rules, EveryCitationNamesARule) {
  const auto rules = stated_rules();
  ASSERT_GT(rules.size(), 30u);
  for (const auto& [id, path] : cited_rules({"reference", "gpu", "oracle", "tests", "docs"})) {
    EXPECT_TRUE(rules.contains(id)) << path << " cites " << id << ", which docs/spec does not state";
  }
}

TEST(Rules, EveryRuleIsCitedByCode) {
  const auto cited = cited_rules({"reference", "oracle"});
  for (const auto& [id, path] : stated_rules()) {
    EXPECT_TRUE(cited.contains(id)) << id << " (" << path << ") is cited by no code in reference/ or oracle/";
  }
}

}  // namespace
}  // namespace moe4::layering
