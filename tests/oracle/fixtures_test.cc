// The golden fixtures: those of the repository are those of this build, and every kind of damage is seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "oracle/file/case_file.h"
#include "oracle/fixtures/catches.h"
#include "oracle/fixtures/fixture_set.h"
#include "oracle/fixtures/golden.h"
#include "oracle/fixtures/sha256.h"
#include "oracle/report/write_file.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

const fs::path kRepository = fs::path(MOE4_SOURCE_DIR) / "fixtures/golden";

class FixturesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("fixtures_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::copy(kRepository, folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The problems of the set as it is now, joined.
  std::string problems() const {
    Result<FixtureCheck> check = verify_fixtures(folder_, FixtureDepth::kFiles);
    if (!check.ok()) return check.error().message();
    std::string all;
    for (const std::string& problem : check->problems) all += problem + "\n";
    return all;
  }

  std::string bytes(const std::string& name) const { return *read_file(folder_ / name); }

  // SHA256SUMS as it would be had the files always been so: what remains must be seen by the other checks.
  void refresh_sums() const {
    std::string sums;
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    names.erase("SHA256SUMS");
    for (const std::string& name : names) sums += sha256_hex(bytes(name)) + "  " + name + "\n";
    ASSERT_FALSE(write_file(folder_ / "SHA256SUMS", sums));
  }

  fs::path folder_;
};

TEST_F(FixturesTest, RepositorySetIsWhatThisBuildWrites) {
  Result<FixtureCheck> check = verify_fixtures(kRepository);
  ASSERT_TRUE(check.ok()) << check.error().message();
  for (const std::string& problem : check->problems) ADD_FAILURE() << problem;
  EXPECT_GE(check->cases, 120);
}

// Sums written with RESULTS.txt are what a reader sees of a change; the set is small.
TEST_F(FixturesTest, TheSetIsSmallAndReadable) {
  std::uintmax_t size = 0;
  for (const auto& entry : fs::directory_iterator(kRepository)) {
    size += fs::file_size(entry);
  }
  EXPECT_LT(size, std::uintmax_t{8} << 20);
  EXPECT_NE(bytes("RESULTS.txt").find("statement_1 BF16 [1,1]\n  0: 4200\n"), std::string::npos);
}

// `catches` of the manifest is computed by RepositorySetIsWhatThisBuildWrites; here: it leaves no gap.
TEST(FixtureCoverage, EveryFaultThatAFixtureCanTellIsTold) {
  const auto text = read_file(kRepository / "MANIFEST.json");
  ASSERT_TRUE(text.ok()) << text.error().message();
  FixtureCoverage coverage = empty_coverage();
  const nlohmann::json manifest = nlohmann::json::parse(*text);
  for (const nlohmann::json& entry : manifest["cases"]) {
    std::istringstream words(entry.value("catches", ""));
    add_to(coverage, entry["name"], {std::istream_iterator<std::string>(words), {}});
  }
  for (const std::string& gap : coverage.gaps()) ADD_FAILURE() << gap;
}

TEST(FixtureCoverage, GapsAreSeen) {
  FixtureCoverage coverage = empty_coverage();
  EXPECT_GT(coverage.gaps().size(), 50u);
  add_to(coverage, "some_case", {"input_changed"});
  const std::vector<std::string> gaps = coverage.gaps();
  EXPECT_NE(std::find(gaps.begin(), gaps.end(), "input_changed: some_case tells it, though none should"),
            gaps.end());
}

TEST_F(FixturesTest, WritingAgainGivesTheSameBytes) {
  const std::string before = bytes("RESULTS.txt") + bytes("layout_gguf.weights.safetensors");
  ASSERT_FALSE(write_fixtures(folder_, FixtureDepth::kFiles));
  EXPECT_EQ(bytes("RESULTS.txt") + bytes("layout_gguf.weights.safetensors"), before);
  EXPECT_EQ(problems(), "");
}

TEST_F(FixturesTest, AFlippedBitOfAResultIsSeenByChecksumAndRecomputation) {
  const std::string name = "statement_3.result.safetensors";
  std::string file = bytes(name);
  file.back() ^= 1;
  ASSERT_FALSE(write_file(folder_ / name, file));
  EXPECT_NE(problems().find(name + ": checksum differs"), std::string::npos);
  refresh_sums();
  EXPECT_NE(problems().find("statement_3: output 1: recorded 0xc1a0, recomputed 0xc0a0"), std::string::npos);
}

TEST_F(FixturesTest, AChangedCaseIsSeenByTheResultByHand) {
  Result<CaseData> data = read_case(folder_ / "statement_1.case.safetensors");
  ASSERT_TRUE(data.ok());
  data->scale_bytes.as<std::uint8_t>()[0] = 128;
  ASSERT_FALSE(write_case(folder_ / "statement_1.case.safetensors", *data));
  refresh_sums();
  EXPECT_NE(
      problems().find("statement_1: output 0: 0x4200 was worked out by hand, the reference says 0x4280"),
      std::string::npos);
}

TEST_F(FixturesTest, MissingAndForeignFilesAreSeen) {
  fs::remove(folder_ / "ties.result.safetensors");
  ASSERT_FALSE(write_file(folder_ / "foreign.txt", "x"));
  EXPECT_NE(problems().find("foreign.txt: not in SHA256SUMS"), std::string::npos);
  refresh_sums();
  const std::string text = problems();
  EXPECT_NE(text.find("ties.result.safetensors: missing"), std::string::npos) << text;
  EXPECT_NE(text.find("foreign.txt: this build does not know it"), std::string::npos) << text;
}

TEST_F(FixturesTest, AFolderWithoutASetIsAnError) { EXPECT_FALSE(verify_fixtures(folder_ / "nowhere").ok()); }

TEST(Golden, NamesAreFileStemsAndDifferAndMostAreByHand) {
  Result<std::vector<Golden>> all = golden_cases();
  ASSERT_TRUE(all.ok()) << all.error().message();
  std::set<std::string> names;
  std::size_t by_hand = 0;
  for (const Golden& golden : *all) {
    EXPECT_TRUE(names.insert(golden.name).second) << golden.name;
    EXPECT_EQ(golden.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << golden.name;
    by_hand += !golden.by_hand.empty();
  }
  EXPECT_GE(by_hand, 30u);
}

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace moe4::oracle
