// The catalogue of faults: named once, each does something, and what does nothing is reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "oracle/faults/kill_text.h"
#include "oracle/faults/selftest.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

const Fault& fault_named(std::string_view name) {
  for (const Fault& fault : fault_catalogue()) {
    if (fault.name == name) return fault;
  }
  ADD_FAILURE() << name;
  return fault_catalogue().front();
}

// Every operation and format on a few fills; the gate's lists take longer than a test may.
constexpr const char* kShortList =
    "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=exact24 seed=3\n"
    "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=real seed=4\n"
    "op=expert_linear weights=int4 tokens=9 experts=4 top_k=3 in=64 out=9 dtype=bf16 fill=exact24 "
    "routing=duplicate seed=5\n"
    "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=96 out=9 dtype=bf16 fill=ties seed=6\n"
    "op=indexed weights=int4 tokens=5 experts=8 top_k=2 in=96 out=9 dtype=bf16 ep=rank(1,2) fill=exact24 "
    "seed=7\n"
    "op=combine weights=mxfp4 tokens=8 experts=6 top_k=4 in=64 out=9 dtype=bf16 fill=bits seed=8\n";

SelftestReport selftest_of(std::vector<std::string> only, const std::vector<Fault>* catalogue = nullptr) {
  SelftestOptions options;
  options.cases = *parse_case_list(kShortList);
  options.only = std::move(only);
  options.catalogue = catalogue;
  options.shrink = options.name = false;
  options.controls.clear();
  Result<SelftestReport> report = run_selftest(options);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message());
  return report.ok() ? std::move(*report) : SelftestReport{};
}

TEST(FaultCatalogue, NamesAreUniqueAndEveryClassIsThere) {
  std::set<std::string_view> names, sentences;
  std::map<char, int> classes;
  for (const Fault& fault : fault_catalogue()) {
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_TRUE(sentences.insert(fault.sentence).second) << fault.name;
    EXPECT_FALSE(fault.sentence.empty()) << fault.name;
    EXPECT_TRUE(fault.cls >= 'A' && fault.cls <= 'M') << fault.name;
    ++classes[fault.cls];
  }
  EXPECT_GE(names.size(), 60U);
  EXPECT_EQ(classes.size(), 13U);
}

TEST(FaultCatalogue, ThePageHasTheTable) {
  std::ifstream file(MOE4_SOURCE_DIR "/docs/faults.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(catalogue_markdown()), std::string::npos)
      << "docs/faults.md holds another table than `moe4 selftest --list`";
}

// Planting is a function of the case and the seed: the same bits twice.
TEST(FaultCatalogue, PlantingIsRepeatable) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=exact24 "
      "seed=3");
  const Norm norm = norm_of_data(data);
  int visible = 0;
  for (const Fault& fault : fault_catalogue()) {
    if (!applies(fault, data) || fault.bits_declared) continue;
    const Result<Planted> once = plant_fault(fault, data, norm, 5);
    const Result<Planted> again = plant_fault(fault, data, norm, 5);
    ASSERT_TRUE(once.ok() && again.ok()) << fault.name;
    EXPECT_EQ(once->where, again->where) << fault.name;
    EXPECT_TRUE(std::equal(once->run.output.as<std::uint16_t>().begin(),
                           once->run.output.as<std::uint16_t>().end(),
                           again->run.output.as<std::uint16_t>().begin()))
        << fault.name;
    visible += once->visible ? 1 : 0;
  }
  EXPECT_GT(visible, 60);
}

TEST(FaultCatalogue, KnownCases) {
  // A store that truncates never gives a larger magnitude than the norm, and one ulp less somewhere.
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=real seed=3");
  const Norm norm = norm_of_data(data);
  const Result<Planted> cut = plant_fault(fault_named("store_truncates"), data, norm, 1);
  ASSERT_TRUE(cut.ok() && cut->visible);
  const auto right = norm.output.as<std::uint16_t>();
  const auto got = cut->run.output.as<std::uint16_t>();
  for (std::size_t k = 0; k < right.size(); ++k)
    EXPECT_TRUE(got[k] == right[k] || got[k] + 1 == right[k]) << k;

  // Ties away from zero differs from the norm on fill=ties only by one ulp, and does so in many outputs.
  const CaseData ties = data_of(
      "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=ties seed=3");
  const Norm even = norm_of_data(ties);
  const Result<Planted> away = plant_fault(fault_named("store_ties_away"), ties, even, 1);
  ASSERT_TRUE(away.ok());
  int changed = 0;
  for (std::size_t k = 0; k < even.output.as<std::uint16_t>().size(); ++k) {
    const int step = away->run.output.as<std::uint16_t>()[k] - even.output.as<std::uint16_t>()[k];
    EXPECT_TRUE(step == 0 || step == 1) << k;
    changed += step;
  }
  EXPECT_GT(changed, 40);
}

// One of each kind of fault, down to the verdict.
TEST(Selftest, FaultsAreCaught) {
  const std::vector<std::string> names = {
      "one_nibble_step",    "one_scale_ulp",       "zero_point_7",        "store_ties_away",
      "last_step_lost",     "accumulator_13_bits", "stale_tile",          "column_unwritten",
      "input_changed",      "repeat_counted_once", "weight_through_bf16", "sentinel_row_written",
      "bf16_sum_over_slots"};
  const SelftestReport report = selftest_of(names);
  std::set<std::string_view> caught;
  for (const FaultOutcome& outcome : report.faults) {
    if (!outcome.caught()) continue;
    caught.insert(outcome.fault->name);
    EXPECT_TRUE(outcome.takes(*outcome.caught_by)) << outcome.fault->name;
  }
  EXPECT_EQ(caught.size(), names.size());
  EXPECT_TRUE(report.alarms.empty());
}

// Faults that stay inside the interval are told by VER-17 and by nothing else.
TEST(Selftest, FaultsInsideTheIntervalAreTold) {
  constexpr const char* kList =
      "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=3 in=256 out=9 dtype=f32 fill=real seed=3\n"
      "op=expert_linear weights=int4 tokens=9 experts=4 top_k=2 in=128 out=20 dtype=bf16 fill=cancel seed=4\n"
      "op=indexed weights=mxfp4 tokens=9 experts=4 top_k=2 in=256 out=20 dtype=bf16 fill=cancel seed=5\n"
      "op=grouped_contiguous weights=int4 tokens=17 experts=8 top_k=2 in=160 out=4 dtype=bf16 fill=cancel "
      "routing=sentinel seed=0x834\n"
      "op=combine weights=mxfp4 tokens=9 experts=6 top_k=4 in=64 out=9 dtype=f32 fill=real seed=6\n";
  SelftestOptions options;
  options.cases = *parse_case_list(kList);
  options.controls.clear();
  options.shrink = options.name = false;
  std::int64_t inside = 0;
  for (const Fault& fault : fault_catalogue()) {
    if (fault.bits_declared) options.only.emplace_back(fault.name);
  }
  ASSERT_GE(options.only.size(), 6U);
  const Result<SelftestReport> report = run_selftest(options);
  ASSERT_TRUE(report.ok()) << report.error().message();
  std::set<std::string_view> told;
  for (const FaultOutcome& outcome : report->faults) {
    if (!outcome.caught()) continue;  // the list does not hold every operation and format
    if (!told.insert(outcome.fault->name).second) continue;
    EXPECT_TRUE(outcome.rule.starts_with("VER-17")) << outcome.fault->name << ": " << outcome.rule;
    // Without the promise the same run passes.
    const CaseData data = data_of(*outcome.caught_by);
    Declaration declaration = declaration_of(*outcome.fault);
    const Result<Norm> healthy = declared_result(data, declaration.arithmetic);
    ASSERT_TRUE(healthy.ok());
    const Result<Planted> planted = plant_fault(*outcome.fault, data, *healthy, options.seed);
    ASSERT_TRUE(planted.ok() && planted->visible) << outcome.fault->name;
    EXPECT_EQ(name_of(judge(data, declaration, planted->run).status), "FAILED") << outcome.fault->name;
    declaration.bits_declared = false;
    EXPECT_EQ(name_of(judge(data, declaration, planted->run).status), "PASSED") << outcome.fault->name;
    ++inside;
  }
  EXPECT_EQ(inside, static_cast<std::int64_t>(options.only.size()));
}

// Each operation and format of a fault has a row of its own; one that the cases don't hold stays open.
TEST(Selftest, ARowForEachOperationAndFormat) {
  const SelftestReport report = selftest_of({"one_nibble_step"});
  EXPECT_EQ(report.faults.size(), 8U);
  std::set<std::pair<Op, WeightFormat>> caught;
  for (const FaultOutcome& outcome : report.faults) {
    if (outcome.caught()) caught.insert({outcome.op, outcome.weights});
    EXPECT_EQ(outcome.applicable > 0, outcome.caught());
  }
  EXPECT_EQ(caught, (std::set<std::pair<Op, WeightFormat>>{{Op::kExpertLinear, WeightFormat::kMxfp4},
                                                           {Op::kExpertLinear, WeightFormat::kInt4},
                                                           {Op::kIndexed, WeightFormat::kInt4}}));
  EXPECT_FALSE(report.passed());
}

SelftestReport controls_of(std::vector<Control> controls) {
  SelftestOptions options;
  options.controls = std::move(controls);
  SelftestReport report;
  run_controls(options, report);
  return report;
}

// A healthy kernel under a declaration that is not its own is an alarm; under its own it is none.
TEST(Selftest, APlantedFalseAlarmIsReported) {
  const SelftestReport healthy = controls_of({{"order=lanes(32,8)+shfl", "order=lanes(32,8)+shfl"}});
  EXPECT_GT(healthy.controls, 100);
  EXPECT_TRUE(healthy.alarms.empty()) << to_string(healthy.alarms.at(0).line);
  EXPECT_TRUE(healthy.passed());
  const SelftestReport alarmed = controls_of({{"order=lanes(32,8)+shfl", "order=seq"}});
  EXPECT_FALSE(alarmed.passed());
  ASSERT_FALSE(alarmed.alarms.empty());
  EXPECT_NE(fault_table(alarmed).find("FALSE ALARM"), std::string::npos);
  EXPECT_TRUE(std::any_of(alarmed.alarms.begin(), alarmed.alarms.end(),
                          [](const FalseAlarm& a) { return a.line.fill == Fill::kTallPairs; }));
}

// BND-24: an infinite scale that is applied to the sum gives an infinity where the norm's weights give NaN.
TEST(Selftest, AnInfiniteScaleAfterTheSumIsHealthy) {
  const SelftestReport report =
      controls_of({{"order=seq dequant=accumulator_scale", "order=seq dequant=accumulator_scale"}});
  EXPECT_GT(report.controls, 30);
  for (const FalseAlarm& alarm : report.alarms)
    ADD_FAILURE() << to_string(alarm.line) << " " << alarm.verdict;
}

TEST(Selftest, RowsAreShrunkAndNamed) {
  SelftestOptions options;
  options.cases = *parse_case_list(kShortList);
  options.only = {"one_scale_step", "store_truncates"};
  options.controls.clear();
  const Result<SelftestReport> report = run_selftest(options);
  ASSERT_TRUE(report.ok());
  int rows = 0;
  for (const FaultOutcome& outcome : report->faults) {
    if (!outcome.caught()) continue;
    ++rows;
    ASSERT_TRUE(outcome.shrunk && outcome.diagnosis);
    EXPECT_TRUE(outcome.diagnosis->names(outcome.fault->name)) << outcome.fault->name;
    EXPECT_EQ(outcome.shrunk->tokens, 1) << to_string(*outcome.shrunk);
    EXPECT_EQ(outcome.shrunk->out, 1) << to_string(*outcome.shrunk);
  }
  EXPECT_EQ(rows, 5);
  EXPECT_EQ(report->naming().asked, 5);
  EXPECT_EQ(report->naming().right, 5);
  EXPECT_EQ(report->naming().high_and_wrong, 0);
}

// A name that is wrong, given with high confidence, fails the self-test.
TEST(Selftest, AWrongNameWithHighConfidenceFails) {
  SelftestReport report;
  report.controls = 1;
  EXPECT_TRUE(report.passed());
  FaultOutcome& outcome = report.faults.emplace_back();
  outcome.fault = &fault_named("one_nibble_step");
  outcome.caught_by = Case{};
  outcome.diagnosis = Diagnosis{};
  outcome.diagnosis->matches.push_back({&fault_named("one_nibble_step"), "", 1, 0, true, 20});
  outcome.diagnosis->confidence = Confidence::kHigh;
  EXPECT_TRUE(report.passed());
  outcome.diagnosis->matches.front().fault = &fault_named("one_nibble_sign");
  EXPECT_EQ(report.naming().high_and_wrong, 1);
  EXPECT_FALSE(report.passed());
  EXPECT_NE(fault_table(report).find("NOT ITSELF"), std::string::npos);
}

// What the self-test is itself tested by: a fault that returns the norm's bits, and one that cannot be
// planted.
TEST(Selftest, AFaultThatDoesNothingIsADefect) {
  const std::vector<Fault> catalogue = {
      {"nothing", 'A', "does nothing", "", kInCombine, kOfBoth,
       [](Scene&, SubjectRun&) -> Status { return {}; }},
      {"refuses", 'A', "cannot be planted", "", kInCombine, kOfBoth, [](Scene&, SubjectRun&) -> Status {
         return Error{"a", "b", "c"};
       }}};
  const SelftestReport report = selftest_of({}, &catalogue);
  EXPECT_EQ(report.survivors(), 2);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.faults[0].visible, 0);
  EXPECT_GT(report.faults[0].applicable, 0);
  EXPECT_FALSE(report.faults[1].defect.empty());
  EXPECT_NE(fault_table(report).find("DEFECT"), std::string::npos);
}

TEST(Selftest, AnUnknownFaultIsAnsweredWithTheNearest) {
  SelftestOptions options;
  options.only = {"one_nibble_stop"};
  const Result<SelftestReport> report = run_selftest(options);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message().find("one_nibble_step"), std::string::npos);
}

TEST(Selftest, PeerRulesByHand) {
  const std::vector<double> right = {1, -2, 3, 0}, same = right, half = {0.5, -1, 1.5, 0},
                            near = {1.001, -2, 3, 0}, one_off = {1.019, -2, 3, 0}, nan = {1, -2, 3, NAN};
  for (const PeerRule& rule : peer_rules()) {
    EXPECT_TRUE(rule.passes(right, same)) << rule.name;
    EXPECT_TRUE(rule.passes(right, near)) << rule.name;
    EXPECT_FALSE(rule.passes(right, half)) << rule.name;
    EXPECT_FALSE(rule.passes(right, nan)) << rule.name;
  }
  EXPECT_TRUE(peer_rules()[0].passes(right, one_off));
  EXPECT_TRUE(peer_rules()[3].passes(right, one_off));  // 0.019 <= 0.01 + 0.01
  EXPECT_FALSE(peer_rules()[4].passes(right, std::vector<double>{1.03, -2, 3, 0}));
}

}  // namespace
}  // namespace moe4::oracle
