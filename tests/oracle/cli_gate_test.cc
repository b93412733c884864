// moe4 gate and merge: shards, --regressions, --known, --baseline, nightly's seed.
#include <nlohmann/json.hpp>

#include "oracle/case/case.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

class CliGate : public CliCommand {
 protected:
  void SetUp() override {
    CliCommand::SetUp();
    ASSERT_FALSE(write_file(path("declaration"), R"({"schema": 1, "name": "crashes", "op": "combine",
      "weights": "mxfp4", "dtypes": ["f64"], "mixture_dtypes": ["f64"], "profile": "once"})"));
  }
  // A subject that accepts few cases and crashes on each.
  std::vector<std::string> crashing(std::vector<std::string> arguments) const {
    const std::vector<std::string> subject = {"--command", "false {cases} {results}", "--declare",
                                              path("declaration")};
    arguments.insert(arguments.end(), subject.begin(), subject.end());
    return arguments;
  }
};

constexpr const char* kLine =
    "op=combine weights=mxfp4 tokens=3 experts=4 top_k=2 in=32 out=5 dtype=f64 mixture=f64 fill=exact8 "
    "routing=uniform seed=0x7";

TEST_F(CliGate, ShardsAndTheirMerge) {
  for (const char* shard : {"1", "2"}) {
    const Outcome part = moe4({"gate", "--subject", "reference", "--shard", std::string(shard) + "/2",
                               "--report", std::string("json=") + path(shard)});
    ASSERT_EQ(part.code, 0) << part.out << part.err;
  }
  const Outcome whole = moe4({"merge", path("2"), path("1"), "--report", "html=" + path("html"), "--report",
                              "junit=" + path("junit")});
  EXPECT_EQ(whole.code, 0) << whole.out << whole.err;
  EXPECT_HAS(whole.out, "PASSED: 1 subject, ");
  EXPECT_EQ(whole.out.find("shard"), std::string::npos) << "the floors are judged now";
  EXPECT_HAS(*read_file(path("html")), "</html>");
  const Outcome half = moe4({"merge", path("2")});
  EXPECT_EQ(half.code, 3);
  EXPECT_HAS(half.out, "shard 1 is missing");
  EXPECT_EQ(moe4({"merge", path("2"), path("2")}).code, 2);
}

TEST_F(CliGate, RegressionsAreRunFirstAndFailuresAreAdded) {
  ASSERT_FALSE(write_file(path("found"), std::string(kLine) + "\n"));
  const Outcome outcome =
      moe4(crashing({"gate", "--regressions", path("found"), "--report", "json=" + path("json")}));
  EXPECT_EQ(outcome.code, 4) << outcome.out << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(*read_file(path("json")))["subjects"][0]["results"][0]["case"], kLine);
  EXPECT_EQ(*read_file(path("found")), std::string(kLine) + "\n") << "what is there is not added again";
  ASSERT_FALSE(write_file(path("list"), kLine));
  std::filesystem::remove(path("found"));
  const Outcome fuzz =
      moe4(crashing({"fuzz", "--cases", "1", "--time", "20", "--regressions", path("found")}));
  EXPECT_EQ(fuzz.code, 4) << fuzz.out << fuzz.err;
  const Result<std::vector<Case>> lines = parse_case_list(*read_file(path("found")));
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->size(), 1u) << "the minimal line in place of the found one:\n"
                               << *read_file(path("found"));
}

TEST_F(CliGate, KnownFaultsAndBaseline) {
  ASSERT_FALSE(write_file(path("found"), std::string(kLine) + "\n"));
  const auto gate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"gate", "--regressions", path("found")});
    return moe4(crashing(more));
  };
  ASSERT_EQ(gate({"--report", "json=" + path("before")}).code, 4);
  ASSERT_FALSE(
      write_file(path("known"), R"({"schema": 1, "known": [{"subject": "crashes", "status": "CRASHED",
    "link": "https://example.org/7", "reason": "it is false"}]})"));
  const Outcome known =
      gate({"--known", path("known"), "--baseline", path("before"), "--report", "md=" + path("md")});
  EXPECT_EQ(known.code, 3) << "known, but the floors are not met\n" << known.out << known.err;
  EXPECT_HAS(known.out, "known CRASHED: https://example.org/7: it is false");
  EXPECT_HAS(known.out, "against the baseline: 0 new, 0 still failing");
  EXPECT_HAS(*read_file(path("md")), "## Known faults");
}

TEST_F(CliGate, NightlyPrintsItsNewSeed) {
  const std::vector<std::string> nightly = {"gate",    "--subject", "reference", "--tier",
                                            "nightly", "--time",    "0.01"};
  const Outcome a = moe4(nightly), b = moe4(nightly);
  EXPECT_EQ(a.out.rfind("seed 0x", 0), 0u) << a.out;
  EXPECT_NE(a.out.substr(0, 20), b.out.substr(0, 20));
  EXPECT_EQ(a.code, 3) << "the list itself was not run to its end";
}

}  // namespace
}  // namespace moe4::oracle
