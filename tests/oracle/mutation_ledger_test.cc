// The ledger's text, the rate and the table of kills.
#include <gtest/gtest.h>

#include "oracle/mutation/kill_table.h"
#include "oracle/mutation/ledger.h"

namespace moe4::oracle {
namespace {

std::string error_of(const std::string& text) {
  const Result<Ledger> ledger = parse_ledger(text);
  return ledger.ok() ? "no error" : ledger.error().message();
}

TEST(MutationLedger, ReadsGroups) {
  const Result<Ledger> ledger = parse_ledger(
      R"({"schema": 1, "subjects": {"k": [{"reason": "r", "mutants": {"a:1:x": "ret;", "b:2:y": "bar.sync 0;"}}]}})");
  ASSERT_TRUE(ledger.ok()) << ledger.error().message();
  ASSERT_EQ(ledger->at("k").size(), 2u);
  EXPECT_EQ(ledger->at("k")[1].mutant, "b:2:y");
  EXPECT_EQ(ledger->at("k")[1].text, "bar.sync 0;");
  EXPECT_EQ(ledger->at("k")[1].reason, "r");
  EXPECT_TRUE(parse_ledger(builtin_ledger()).ok());
}

TEST(MutationLedger, RefusesByName) {
  const auto group = [](const std::string& text) {
    return error_of(R"({"schema": 1, "subjects": {"k": [)" + text + "]}}");
  };
  EXPECT_NE(error_of("{").find("not JSON"), std::string::npos);
  EXPECT_NE(error_of("[]").find("schema, subjects"), std::string::npos);
  EXPECT_NE(error_of(R"({"schema": 2, "subjects": {}})").find("ledger.schema"), std::string::npos);
  EXPECT_NE(error_of(R"({"schema": 1, "subjects": {"k": {}}})").find("ledger.subjects.k"), std::string::npos);
  EXPECT_NE(error_of(R"({"schema": 1, "subjects": {}, "subjects": {}})").find("each field once"),
            std::string::npos);
  EXPECT_NE(group(R"({"mutants": {"a": "b"}})").find("k[0]"), std::string::npos);
  EXPECT_NE(group(R"({"reason": "", "mutants": {"a": "b"}})").find("reason"), std::string::npos);
  EXPECT_NE(group(R"({"reason": "r", "mutants": {}})").find("mutants"), std::string::npos);
  EXPECT_NE(group(R"({"reason": "r", "mutants": {"a": 1}})").find("mutants.a"), std::string::npos);
  EXPECT_NE(group(R"({"reason": "r", "mutants": {"a": "b", "a": "b"}})").find("each field once"),
            std::string::npos);
  EXPECT_NE(group(R"({"reason": "r", "mutants": {"a": "b"}}, {"reason": "s", "mutants": {"a": "b"}})")
                .find("each mutant once"),
            std::string::npos);
}

MutantOutcome outcome(std::string kind, Fate fate, std::string by = "", bool equivalent = false) {
  MutantOutcome mutant;
  mutant.name = kind + ":1:x";
  mutant.kind = std::move(kind);
  mutant.diff = "1: - add.s32 %r1, %r2, %r3; + sub.s32 %r1, %r2, %r3;";
  mutant.fate = fate;
  mutant.by = std::move(by);
  mutant.equivalent = equivalent;
  return mutant;
}

TEST(MutationReport, RateLeavesOutWhatTellsNothing) {
  MutationReport report;
  EXPECT_FALSE(report.passed());  // nothing ran
  for (int n = 0; n < 19; ++n) report.mutants.push_back(outcome("swap", Fate::kKilled, "mismatch"));
  report.mutants.push_back(outcome("shift", Fate::kSurvived));
  report.mutants.push_back(outcome("shift", Fate::kSurvived, "", true));
  report.mutants.push_back(outcome("shift", Fate::kRefused, "why"));
  report.mutants.push_back(outcome("shift", Fate::kNotRun));
  EXPECT_DOUBLE_EQ(report.kill_rate(), 0.95);
  EXPECT_TRUE(report.passed());
  report.ledger_errors.push_back("wrong");
  EXPECT_FALSE(report.passed());
  report.ledger_errors.clear();
  report.mutants.push_back(outcome("shift", Fate::kSurvived));
  EXPECT_FALSE(report.passed());
}

TEST(MutationReport, TableNamesKillersAndSurvivors) {
  MutationReport report;
  report.subject = "k";
  report.cases = 3;
  report.mutants = {outcome("swap", Fate::kKilled, "mismatch"),
                    outcome("barrier", Fate::kKilled, "shared-race"),
                    outcome("swap", Fate::kKilled, "mismatch"), outcome("swap", Fate::kSurvived)};
  const std::string table = kill_table(report);
  EXPECT_NE(table.find("mismatch 2, shared-race 1"), std::string::npos) << table;
  EXPECT_NE(table.find("swap:1:x\n    1: - add.s32"), std::string::npos) << table;
  EXPECT_NE(table.find("FAILED: 75.0 % of the mutants of k"), std::string::npos) << table;
  EXPECT_LT(table.find("barrier"), table.find("swap"));
}

}  // namespace
}  // namespace moe4::oracle
