// Who may link whom: CMake writes the link edges of our libraries to a file, this test judges them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace {

const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::map<std::string, std::set<std::string>> kAllowed = {
      {"moe4_reference", {}},
      {"moe4_ptx", {}},
      {"moe4_gpu", {"moe4_ptx"}},
      {"moe4_oracle", {"moe4_reference"}},
      {"moe4_oracle_gpu", {"moe4_oracle", "moe4_gpu"}},
  };
  return kAllowed;
}

// Every moe4 library named in `edges` that `library` may not link, blank-separated.
std::string forbidden(const std::string& library, const std::string& edges) {
  std::string found;
  std::istringstream words(edges);
  for (std::string word; words >> word;) {
    for (const std::string scope : {"moe4::", "moe4_"}) {
      const auto at = word.find(scope);
      if (at == std::string::npos) continue;
      std::string name = "moe4_" + word.substr(at + scope.size());
      name = name.substr(0, name.find_first_of(",;>"));
      if (name != "moe4_flags" && !allowed().at(library).contains(name)) found += name + " ";
      break;
    }
  }
  return found;
}

TEST(Layering, LinkEdgesStayInsideTheirLayer) {
  std::ifstream in(MOE4_LINK_EDGES);
  std::set<std::string> seen;
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    ASSERT_NE(colon, std::string::npos) << line;
    const std::string library = line.substr(0, colon);
    ASSERT_TRUE(allowed().contains(library)) << "a library without a rule: " << library;
    EXPECT_EQ(forbidden(library, line.substr(colon + 2)), "") << line;
    seen.insert(library);
  }
  for (const char* library : {"moe4_reference", "moe4_ptx", "moe4_gpu", "moe4_oracle"}) {
    EXPECT_TRUE(seen.contains(library)) << library;
  }
}

TEST(Layering, ForbiddenLinksAreSeen) {
  EXPECT_NE(forbidden("moe4_reference", "Eigen3::Eigen moe4_oracle"), "");
  EXPECT_NE(forbidden("moe4_ptx", "moe4::reference"), "");
  EXPECT_NE(forbidden("moe4_oracle", "moe4_reference $<BUILD_INTERFACE:moe4_gpu>"), "");
  EXPECT_EQ(forbidden("moe4_oracle", "$<BUILD_INTERFACE:moe4_flags> moe4_reference fmt::fmt"), "");
}

}  // namespace
