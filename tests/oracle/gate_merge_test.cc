// Shards and their merge, the ledger of known faults, baselines, rounds, interruption.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "oracle/gate/baseline.h"
#include "oracle/gate/merge.h"
#include "oracle/gate/tiers.h"
#include "oracle/report/json.h"
#include "oracle/report/table.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

// Seven cases; `wrong` fails those with three outputs.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (int n = 0; n < 7; ++n) {
    all.push_back(
        *parse_case("op=expert_linear weights=mxfp4 tokens=2 experts=4 top_k=2 in=64 dtype=bf16 out=" +
                    std::to_string(2 + n % 3) + " seed=" + std::to_string(n)));
  }
  return all;
}

void break_three_outputs(const CaseData& data, SubjectRun& run) {
  if (data.line->out == 3) break_first_output(data, run);
}

class GateMerge : public testing::Test {
 protected:
  GateReport gate(const GateOptions& options) {
    Subject* const subjects[] = {&healthy_, &wrong_};
    return run_gate(subjects, cases(), options);
  }
  GateReport shard(std::int64_t index, std::int64_t count) {
    GateOptions options;
    options.shard = {index, count};
    return *parse_gate_json(gate_json(gate(options)));
  }

  FakeSubject healthy_{"healthy"}, wrong_{"wrong", break_three_outputs};
};

std::vector<std::string> lines_of(const Tally& tally) {
  std::vector<std::string> lines;
  for (const CaseResult& r : tally.results)
    lines.push_back(to_string(r.line) + " " + std::string(name_of(r.verdict.status)));
  return lines;
}

TEST_F(GateMerge, ShardsJoinToTheWholeWhateverTheirOrder) {
  const GateReport whole = gate({});
  const Result<GateReport> merged = merge_reports({shard(3, 3), shard(1, 3), shard(2, 3)}, {"c", "a", "b"});
  ASSERT_TRUE(merged.ok()) << merged.error().message();
  EXPECT_EQ(merged->cases, whole.cases);
  EXPECT_EQ(merged->exit_code(), ExitCode::kMismatch);
  for (std::size_t s = 0; s < 2; ++s) {
    const Tally &a = merged->tallies[s], &b = whole.tallies[s];
    EXPECT_EQ(lines_of(a), lines_of(b)) << "the order of the list";
    EXPECT_EQ(a.status, b.status);
    EXPECT_EQ(a.coverage.pairs, b.coverage.pairs);
    EXPECT_EQ(a.red, b.red);
    EXPECT_EQ(a.unmet, b.unmet);
    EXPECT_EQ(a.fills, b.fills);
    EXPECT_EQ(a.ops, b.ops);
  }
}

TEST_F(GateMerge, AMissingShardIsRed) {
  FakeSubject alone("alone");
  Subject* const subjects[] = {&alone};
  GateOptions options;
  options.shard = {1, 2};
  const GateReport half = *parse_gate_json(gate_json(run_gate(subjects, cases(), options)));
  EXPECT_EQ(half.exit_code(), ExitCode::kPassed);
  const Result<GateReport> merged = merge_reports({half}, {"a"});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->exit_code(), ExitCode::kUnmet);
  EXPECT_EQ(merged->unmet(), std::vector<std::string>{"shard 2 is missing"});
}

TEST_F(GateMerge, WhatIsNoPartOfTheSameGateIsRefused) {
  const auto refused = [&](GateReport other, const char* field) {
    const Result<GateReport> merged = merge_reports({shard(1, 2), std::move(other)}, {"a", "b"});
    ASSERT_FALSE(merged.ok()) << field;
    EXPECT_NE(merged.error().field.find(field), std::string::npos) << merged.error().message();
  };
  refused(shard(1, 2), "shard.index");
  refused(shard(2, 3), "shard.count");
  GateReport other = shard(2, 2);
  other.list = "another";
  refused(other, "list");
  other = shard(2, 2);
  other.seed = 7;
  refused(other, "seed");
  other = shard(2, 2);
  other.floors.pairs = 1;
  refused(other, "floors");
  other = shard(2, 2);
  other.tallies.pop_back();
  refused(other, "subjects");
  other = shard(2, 2);
  Declaration loosened = wrong_.declaration();
  loosened.out_max = 1000;
  other.tallies[1].declared = to_json(loosened);
  refused(other, "declaration");
}

TEST_F(GateMerge, FloorsThatNoShardCanMeetAreJudgedByTheMerge) {
  GateOptions options;
  options.floors.every_tail = true;
  std::vector<GateReport> parts;
  for (int n = 1; n <= 2; ++n) {
    options.shard = {n, 2};
    parts.push_back(*parse_gate_json(gate_json(gate(options))));
    EXPECT_TRUE(parts.back().tallies[0].unmet.empty());
  }
  const Result<GateReport> merged = merge_reports(parts, {"a", "b"});
  ASSERT_TRUE(merged.ok());
  ASSERT_EQ(merged->tallies[0].unmet.size(), 1u);
  EXPECT_EQ(merged->tallies[0].unmet[0].rfind("dimensions never judged with a tail", 0), 0u);
}

TEST_F(GateMerge, JsonIsReadAsItWasWritten) {
  GateOptions options;
  options.floors.real_singletons = 0.25;
  options.rounds = 5;
  options.time = std::chrono::duration<double>(0.2);
  const GateReport report = gate(options);
  const Result<GateReport> back = parse_gate_json(gate_json(report));
  ASSERT_TRUE(back.ok()) << back.error().message();
  // What is not kept (worst, proof) is all that differs.
  nlohmann::json a = nlohmann::json::parse(gate_json(report)), b = nlohmann::json::parse(gate_json(*back));
  for (nlohmann::json* json : {&a, &b}) {
    for (nlohmann::json& subject : (*json)["subjects"]) {
      for (nlohmann::json& result : subject["results"]) {
        for (const char* key : {"worst", "proof", "pairs"}) result.erase(key);
      }
    }
  }
  EXPECT_EQ(a, b);
}

TEST_F(GateMerge, HostileReportsAreRefusedByField) {
  const std::string good = gate_json(gate({}));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    const std::size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    const Result<GateReport> report = parse_gate_json(bad);
    EXPECT_FALSE(report.ok()) << from << " -> " << to;
  };
  refused("\"moe4.report\": 2", "\"moe4.report\": 1");
  refused("\"seed\": 0", "\"seed\": -1");
  refused("\"index\": 1", "\"index\": 2");
  refused("\"count\": 1", "\"count\": 99999999999");
  refused("\"list\": \"", "\"lisp\": \"");
  refused("\"status\": \"PASSED\"", "\"status\": \"passed\"");
  refused("\"red\": 2", "\"red\": 0");
  refused("op=expert_linear", "op=expert_linea");
  refused("\"cells\": [", "\"cells\": [[1000,0,1],");
  refused("\"row_step\": 1", "\"row_step\": 0");
  refused("\"pairs_seen\": \"", "\"pairs_seen\": \"zz");
  refused("\"subjects\": [", "\"subjects\": [3,");
  refused("{", "[");
  EXPECT_FALSE(parse_gate_json("").ok());
  for (std::size_t n = 0; n + 2 < good.size(); n += 997)
    EXPECT_FALSE(parse_gate_json(good.substr(0, n)).ok()) << n;
}

constexpr const char* kLedger = R"({"schema": 1, "known": [
  {"subject": "wrong", "case": "out=3 seed=0x1", "link": "https://example.org/1", "reason": "three outputs"},
  {"case": "out=3 seed=4", "link": "https://example.org/2", "reason": "three outputs"}]})";

TEST_F(GateMerge, KnownFaultsAreReportedAndNotRed) {
  GateOptions options;
  const Result<KnownFaults> known = parse_known_faults(kLedger);
  ASSERT_TRUE(known.ok()) << known.error().message();
  options.known = {(*known)[0]};
  const GateReport partly = gate(options);
  EXPECT_EQ(partly.tallies[1].red, 1);
  EXPECT_EQ(partly.tallies[1].known, 1);
  EXPECT_EQ(partly.exit_code(), ExitCode::kMismatch) << "the other one is not known";
  EXPECT_NE(gate_known(partly).find("https://example.org/1: three outputs"), std::string::npos);

  options.known.push_back((*known)[1]);
  options.known[1].subject = "wrong";
  const GateReport all = gate(options);
  EXPECT_EQ(all.tallies[1].status, VerdictStatus::kPassed);
  EXPECT_EQ(all.exit_code(), ExitCode::kPassed);
}

TEST_F(GateMerge, AnUnexpectedPassIsRed) {
  GateOptions options;
  options.known = *parse_known_faults(kLedger);
  const GateReport report = gate(options);
  EXPECT_EQ(report.tallies[0].red, 0);
  ASSERT_EQ(report.tallies[0].unmet.size(), 1u) << "the second entry names every subject, and healthy passes";
  EXPECT_NE(report.tallies[0].unmet[0].find("https://example.org/2"), std::string::npos);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

TEST_F(GateMerge, AKnownFaultOfAnotherStatusStaysRed) {
  GateOptions options;
  options.known = *parse_known_faults(kLedger);
  for (KnownFault& fault : options.known) fault.status = VerdictStatus::kCrashed;
  EXPECT_EQ(gate(options).tallies[1].red, 2);
}

TEST(KnownFaults, AreStrict) {
  const auto refused = [](const std::string& entry, const char* field) {
    const Result<KnownFaults> faults = parse_known_faults("{\"schema\": 1, \"known\": [" + entry + "]}");
    ASSERT_FALSE(faults.ok()) << entry;
    EXPECT_NE(faults.error().message().find(field), std::string::npos) << faults.error().message();
  };
  refused(R"({"subject": "x", "reason": "r"})", "link");
  refused(R"({"subject": "x", "link": "l"})", "reason");
  refused(R"({"link": "l", "reason": "r"})", "subject");
  refused(R"({"subjet": "x", "link": "l", "reason": "r"})", "subject");
  refused(R"({"subject": 3, "link": "l", "reason": "r"})", "string");
  refused(R"({"case": "tokenz=3", "link": "l", "reason": "r"})", "tokens");
  refused(R"({"case": "dtype=f15", "link": "l", "reason": "r"})", "f16");
  refused(R"({"subject": "x", "status": "PASSED", "link": "l", "reason": "r"})", "red status");
  refused("3", "object");
  EXPECT_FALSE(parse_known_faults("{\"known\": []}").ok());
  EXPECT_FALSE(parse_known_faults("[]").ok());
}

TEST_F(GateMerge, ABaselineTellsNewFixedAndStillFailing) {
  const GateReport before = gate({});
  EXPECT_TRUE(compare_with_baseline(before, before).fresh.empty());
  EXPECT_EQ(compare_with_baseline(before, before).still.size(), 2u);

  FakeSubject fewer("wrong", [](const CaseData& data, SubjectRun& run) {
    if (data.line->seed == 1 || data.line->seed == 2) break_first_output(data, run);
  });
  Subject* const subjects[] = {&healthy_, &fewer};
  std::vector<Case> list = cases();
  GateReport now = run_gate(subjects, list, {});
  const BaselineComparison c = compare_with_baseline(now, before);
  ASSERT_EQ(c.fresh.size(), 1u);
  EXPECT_NE(c.fresh[0].find("seed=0x2"), std::string::npos);
  ASSERT_EQ(c.fixed.size(), 1u);
  EXPECT_NE(c.fixed[0].find("seed=0x4"), std::string::npos);
  EXPECT_EQ(c.still.size(), 1u);
  now.baseline = c;
  EXPECT_NE(gate_baseline(now).find("1 new, 1 still failing, 1 fixed, 0 not run now"), std::string::npos);

  list.erase(list.begin() + 4);
  EXPECT_EQ(compare_with_baseline(run_gate(subjects, list, {}), before).gone.size(), 1u);
}

TEST_F(GateMerge, RoundsDrawOtherDataUntilTheTimeIsUp) {
  GateOptions options;
  options.rounds = 100;
  options.time = std::chrono::duration<double>(0.5);
  const GateReport report = gate(options);
  EXPECT_GT(report.rounds, 0);
  EXPECT_GT(report.cases, 7);
  EXPECT_EQ(report.tallies[0].listed, report.cases);
  EXPECT_EQ(report.tallies[0].skipped, 0) << "what the time did not allow is not listed";
  EXPECT_EQ(report.tallies[0].results[7].line.seed, report.tallies[0].results[0].line.seed + 101);
}

TEST_F(GateMerge, AnInterruptionSkipsTheRestAndIsNeverGreen) {
  int judged = 0;
  GateOptions options;
  options.judged = [&](const CaseResult&) { ++judged; };
  options.stop = [&] { return judged >= 3 ? "interrupted by SIGINT" : ""; };
  FakeSubject alone("alone");
  Subject* const subjects[] = {&alone};
  const GateReport report = run_gate(subjects, cases(), options);
  EXPECT_EQ(report.tallies[0].passed, 3);
  EXPECT_EQ(report.tallies[0].skipped, 4);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
  EXPECT_EQ(gate_summary(report).rfind("INTERRUPTED", 0), 0u);
  EXPECT_EQ(parse_gate_json(gate_json(report))->interrupted, "interrupted by SIGINT");
}

TEST(Tiers, EveryTierBeginsWithTheRegressions) {
  for (const Tier& tier : tiers()) {
    EXPECT_EQ(tier.list.rfind("# Cases that a kernel of this repository once failed", 0), 0u) << tier.name;
  }
}

}  // namespace
}  // namespace moe4::oracle
