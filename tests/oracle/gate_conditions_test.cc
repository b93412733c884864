// The gate is green only for a healthy subject that was shown enough: one test for each way to be red.
#include <gtest/gtest.h>

#include "oracle/gate/gate.h"
#include "oracle/gate/tiers.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

std::vector<Case> cases_of(const std::string& text) {
  Result<std::vector<Case>> cases = parse_case_list(text);
  EXPECT_TRUE(cases.ok()) << cases.error().message();
  return *cases;
}

std::vector<Case> two_cases() {
  return cases_of(
      "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=160 out=33 dtype=bf16 fill=exact8\n"
      "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=4 dtype=bf16 fill=real "
      "seed=0x3\n");
}

GateReport gate(FakeSubject& subject, const std::vector<Case>& cases, const Floors& floors = {},
                GateOptions options = {}) {
  options.floors = floors;
  options.hold = HoldCases::kNone;
  Subject* const subjects[] = {&subject};
  return run_gate(subjects, cases, options);
}

bool mentions(const Tally& tally, const std::string& text) {
  for (const std::string& condition : tally.unmet) {
    if (condition.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(Gate, HealthySubjectPasses) {
  FakeSubject subject("healthy");
  const GateReport report = gate(subject, two_cases());
  EXPECT_EQ(report.exit_code(), ExitCode::kPassed);
  EXPECT_EQ(report.tallies[0].status, VerdictStatus::kPassed);
  EXPECT_EQ(report.tallies[0].ran, 2);
  EXPECT_EQ(subject.runs, 2);
}

TEST(Gate, WrongOutputIsAMismatch) {
  FakeSubject subject("wrong", break_first_output);
  const GateReport report = gate(subject, two_cases());
  EXPECT_EQ(report.exit_code(), ExitCode::kMismatch);
  EXPECT_EQ(report.tallies[0].status, VerdictStatus::kFailed);
}

TEST(Gate, OneWrongCaseOfManyIsEnough) {
  FakeSubject subject("wrong", [](const CaseData& data, SubjectRun& run) {
    if (data.line->fill == Fill::kReal) break_first_output(data, run);
  });
  const GateReport report = gate(subject, two_cases());
  EXPECT_EQ(report.exit_code(), ExitCode::kMismatch);
  EXPECT_EQ(report.tallies[0].passed, 1);
  EXPECT_EQ(report.tallies[0].red, 1);
}

TEST(Gate, FindingUnwrittenOutputAndChangedInputAreMismatches) {
  FakeSubject finding("finding", [](const CaseData&, SubjectRun& run) {
    run.findings.push_back({"race", "text"});
  });
  FakeSubject unwritten("unwritten", [](const CaseData&, SubjectRun& run) {
    run.unwritten.assign(static_cast<std::size_t>(run.output.elements()), false);
    run.unwritten.back() = true;
  });
  FakeSubject changed("changed", [](const CaseData&, SubjectRun& run) { run.inputs_unchanged = false; });
  for (FakeSubject* subject : {&finding, &unwritten, &changed}) {
    EXPECT_EQ(gate(*subject, two_cases()).exit_code(), ExitCode::kMismatch) << subject->declaration().name;
  }
}

// VER-7: formal findings are counted apart and make nothing red.
TEST(Gate, FormalFindingsAreCountedApart) {
  FakeSubject formal("formal", [](const CaseData&, SubjectRun& run) {
    run.findings.push_back({"async-pending", "text", true});
  });
  FakeSubject both("both", [](const CaseData&, SubjectRun& run) {
    run.findings.push_back({"async-pending", "text", true});
    run.findings.push_back({"race", "text"});
  });
  const GateReport green = gate(formal, two_cases());
  EXPECT_EQ(green.exit_code(), ExitCode::kPassed);
  EXPECT_EQ(green.tallies[0].findings, 0);
  EXPECT_EQ(green.tallies[0].formal_findings, 2);
  const GateReport red = gate(both, two_cases());
  EXPECT_EQ(red.exit_code(), ExitCode::kMismatch);
  EXPECT_EQ(red.tallies[0].findings, 2);
  EXPECT_EQ(red.tallies[0].formal_findings, 2);
}

// VER-17: a promise that no case asks for is none.
TEST(Gate, PromisedBitsMustBeCompared) {
  FakeSubject subject("promises");
  Declaration& declaration = subject.mutable_declaration();
  declaration.arithmetic = parse_arithmetic("order=seq accumulation=exact").value();
  declaration.bits_declared = true;
  const std::vector<Case> cases = two_cases();
  const GateReport compared = gate(subject, cases);
  EXPECT_EQ(compared.exit_code(), ExitCode::kPassed);
  EXPECT_EQ(compared.tallies[0].bits_compared, 3 * 4);  // the exact fill asks for the norm's (VER-3)
  const GateReport none = gate(subject, {cases[0]});
  EXPECT_EQ(none.exit_code(), ExitCode::kUnmet);
  EXPECT_TRUE(mentions(none.tallies[0], "VER-17"));
}

TEST(Gate, CrashAndTimeoutComeBeforeAMismatch) {
  for (const auto outcome : {SubjectRun::Outcome::kCrashed, SubjectRun::Outcome::kTimeout}) {
    FakeSubject subject("crash", [outcome](const CaseData& data, SubjectRun& run) {
      if (data.line->fill == Fill::kReal) {
        run.outcome = outcome;
      } else {
        break_first_output(data, run);
      }
    });
    EXPECT_EQ(gate(subject, two_cases()).exit_code(), ExitCode::kCrashed);
  }
}

TEST(Gate, NothingRanIsUnmet) {
  FakeSubject subject("picky");
  subject.mutable_declaration().dtypes = {Dtype::kF64};
  const GateReport report = gate(subject, two_cases());
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
  EXPECT_EQ(report.tallies[0].unsupported, 2);
  EXPECT_TRUE(mentions(report.tallies[0], "no case ran"));
  EXPECT_EQ(subject.runs, 0);
}

TEST(Gate, ASubjectThatNeverRanIsRedBesideOneThatDid) {
  FakeSubject healthy("healthy"),
      idle("idle", [](const CaseData&, SubjectRun&run) { run.outcome = SubjectRun::Outcome::kUnsupported; });
  Subject* const subjects[] = {&healthy, &idle};
  const GateReport report = run_gate(subjects, two_cases(), {});
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
  EXPECT_EQ(report.tallies[0].status, VerdictStatus::kPassed);
  EXPECT_EQ(report.tallies[1].status, VerdictStatus::kMistrusted);
}

TEST(Gate, NoSubjectsAndNoCasesAreUnmet) {
  EXPECT_EQ(run_gate({}, two_cases(), {}).exit_code(), ExitCode::kUnmet);
  FakeSubject subject("healthy");
  EXPECT_EQ(gate(subject, {}).exit_code(), ExitCode::kUnmet);
}

TEST(Gate, UndeclaredProfileNeverPasses) {
  FakeSubject subject("undeclared");
  subject.mutable_declaration().profile.clear();
  const GateReport report = gate(subject, two_cases());
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
  EXPECT_TRUE(mentions(report.tallies[0], "no profile"));
}

TEST(Gate, PairsBelowTheFloor) {
  FakeSubject subject("healthy");
  Floors floors;
  floors.pairs = 4000;
  const GateReport report = gate(subject, two_cases(), floors);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
  EXPECT_TRUE(mentions(report.tallies[0], "the floor is 4000"));
}

TEST(Gate, FillsRoutingsAndTailsBelowTheFloor) {
  FakeSubject subject("healthy");
  Floors floors;
  floors.every_fill = floors.every_routing = floors.every_tail = true;
  const std::vector<Case> one = {two_cases()[1]};
  const Tally tally = gate(subject, one, floors).tallies[0];
  EXPECT_EQ(tally.status, VerdictStatus::kMistrusted);
  EXPECT_TRUE(mentions(tally, "fills never judged: exact8, exact24"));
  EXPECT_TRUE(mentions(tally, "routings never judged: hot"));
  EXPECT_TRUE(mentions(tally, "tail: tokens, out, in"));
  const Tally wide = gate(subject, two_cases(), floors).tallies[0];
  EXPECT_FALSE(mentions(wide, "tail")) << "tokens=5 in=160 out=33 has a tail everywhere";
}

// A generator that yields one scale byte only shows at most 16 pairs, however many cases it makes.
TEST(Gate, OneScaleByteIsMistrusted) {
  FakeSubject subject("healthy");
  GateOptions options;
  std::vector<Case> cases;
  const Result<std::vector<Case>> smoke = parse_case_list(find_tier("smoke")->list);
  for (const Case& line : *smoke) {
    Case narrow = line;
    narrow.scales = ScaleWindow{127, 127};
    if (line.op == Op::kExpertLinear && line.fill == Fill::kBits && !validate_case(narrow))
      cases.push_back(narrow);
  }
  ASSERT_GT(cases.size(), 5U);
  const Tally tally = gate(subject, cases, find_tier("smoke")->floors, options).tallies[0];
  EXPECT_EQ(tally.status, VerdictStatus::kMistrusted);
  EXPECT_LE(tally.coverage.pairs.count(), 16U);
  EXPECT_TRUE(mentions(tally, "pairs of mxfp4 covered; the floor is 2560"));
}

// Outputs that cannot tell anything show no routing, no tail and no layout: here every weight meets a zero
// token.
TEST(Gate, WhatCannotBeSeenDoesNotCount) {
  FakeSubject subject("healthy");
  Case blind = two_cases()[0];
  const Tally seen = gate(subject, {blind}).tallies[0];
  EXPECT_EQ(seen.routings.count(Routing::kUniform), 1U);
  EXPECT_EQ(seen.tails.size(), 3U);
  EXPECT_EQ(seen.layouts.size(), 1U);
  blind.top_k = 0;
  const Tally unseen = gate(subject, {blind}).tallies[0];
  ASSERT_EQ(unseen.passed, 1) << unseen.results[0].failure;
  EXPECT_TRUE(unseen.routings.empty() && unseen.tails.empty() && unseen.layouts.empty());
  EXPECT_EQ(unseen.fills.size(), 1U);
}

TEST(Gate, ALayoutThatWasNeverJudgedIsUnmet) {
  FakeSubject subject("healthy");
  subject.mutable_declaration().layouts = {"row_major", "gguf"};
  Floors floors;
  floors.every_layout = true;
  const auto cases = cases_of(
      "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=96 out=5 dtype=bf16 layout=gguf "
      "fill=exact8 "
      "seed=0x1\n");
  EXPECT_TRUE(mentions(gate(subject, cases, floors).tallies[0], "layouts never judged: row_major"));
  subject.mutable_declaration().layouts = {"gguf"};
  EXPECT_FALSE(mentions(gate(subject, cases, floors).tallies[0], "layouts"));
}

TEST(Gate, CombineIsNotAskedForATailOfI) {
  FakeSubject subject("healthy");
  Floors floors;
  floors.every_tail = true;
  const auto combine = cases_of(
      "op=combine weights=mxfp4 tokens=5 experts=4 top_k=2 in=64 out=33 dtype=bf16 fill=exact8 "
      "routing=uniform seed=0x1\n");
  subject.mutable_declaration().ops = {Op::kCombine};
  EXPECT_FALSE(mentions(gate(subject, combine, floors).tallies[0], "tail"));
  subject.mutable_declaration().ops = {Op::kCombine, Op::kIndexed};
  EXPECT_TRUE(mentions(gate(subject, combine, floors).tallies[0], "tail: in"));
}

TEST(Gate, ATailThatTheDeclarationRefusesIsNotAskedFor) {
  FakeSubject subject("healthy");
  Floors floors;
  floors.every_tail = true;
  const auto whole = cases_of(
      "op=indexed weights=int4 tokens=5 experts=4 top_k=2 in=128 out=64 dtype=bf16 fill=exact8 "
      "routing=uniform seed=0x1\n");
  subject.mutable_declaration().ops = {Op::kIndexed};
  subject.mutable_declaration().weights = {WeightFormat::kInt4};
  subject.mutable_declaration().out_multiple = 64;
  subject.mutable_declaration().in_multiple = 64;
  EXPECT_TRUE(mentions(gate(subject, whole, floors).tallies[0], "tail: in"));
  subject.mutable_declaration().in_multiple = 128;
  EXPECT_FALSE(mentions(gate(subject, whole, floors).tallies[0], "tail"));
}

// An order that says nothing leaves wide intervals on data that cancels; the share of due bits then falls.
TEST(Gate, WeakOrderOnRealDataIsUnmet) {
  const auto real = cases_of(
      "op=expert_linear weights=mxfp4 tokens=2 experts=4 top_k=4 in=6144 out=40 dtype=bf16 fill=real "
      "seed=0x9\n");
  Floors floors;
  floors.real_singletons = 0.6;
  FakeSubject any("any"), lanes("lanes");
  any.mutable_declaration().arithmetic.order = Order{};
  lanes.mutable_declaration().arithmetic.order = *parse_order("lanes(32,8)+shfl");
  const Tally weak = gate(any, real, floors).tallies[0];
  const Tally tight = gate(lanes, real, floors).tallies[0];
  ASSERT_LT(*weak.real_bf16.share(), 0.6);
  ASSERT_GT(*tight.real_bf16.share(), 0.6);
  EXPECT_EQ(weak.exit_code(), ExitCode::kUnmet);
  EXPECT_TRUE(mentions(weak, "order is missing or too weak"));
  EXPECT_EQ(tight.exit_code(), ExitCode::kPassed);
}

TEST(Gate, NoRealBf16CaseIsUnmetWhereTheFloorAsksForIt) {
  FakeSubject subject("healthy");
  Floors floors;
  floors.real_singletons = 0.6;
  EXPECT_EQ(gate(subject, {two_cases()[0]}, floors).exit_code(), ExitCode::kUnmet);
  subject.mutable_declaration().dtypes = {Dtype::kF32};
  std::vector<Case> f32 = {two_cases()[0]};
  f32[0].dtype = Dtype::kF32;
  EXPECT_EQ(gate(subject, f32, floors).exit_code(), ExitCode::kPassed) << "the floor is about BF16";
}

TEST(Gate, TimeLimitSkipsAndIsThenUnmet) {
  FakeSubject subject("healthy");
  GateOptions options;
  options.time = std::chrono::duration<double>(1e-9);
  const GateReport report = gate(subject, two_cases(), {}, options);
  EXPECT_EQ(report.tallies[0].skipped, 2);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

TEST(Gate, UnusableLineIsUnmet) {
  FakeSubject subject("healthy");
  std::vector<Case> cases = two_cases();
  cases[1].routing = Routing::kBoundary;  // needs 7 tokens (CASE-8)
  const GateReport report = gate(subject, cases);
  EXPECT_EQ(report.unusable.size(), 1u);
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

TEST(Gate, ShardsPartitionTheList) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 7; ++seed) {
    cases.push_back(two_cases()[1]);
    cases.back().seed = seed;
  }
  std::set<std::uint64_t> seen;
  std::int64_t ran = 0;
  for (std::int64_t i = 1; i <= 3; ++i) {
    FakeSubject subject("healthy", [&](const CaseData& data, SubjectRun&) { seen.insert(data.line->seed); });
    GateOptions options;
    options.shard = {i, 3};
    const GateReport report = gate(subject, cases, {}, options);
    ran += report.tallies[0].ran;
  }
  EXPECT_EQ(ran, 7);
  EXPECT_EQ(seen.size(), 7u);
}

TEST(Gate, SeedGivesOtherData) {
  FakeSubject subject("healthy",
                      [](const CaseData& data, SubjectRun&) { EXPECT_EQ(data.line->seed, 0x3u + 10u); });
  GateOptions options;
  options.seed = 10;
  const GateReport report = gate(subject, {two_cases()[1]}, {}, options);
  EXPECT_EQ(report.tallies[0].results[0].line.seed, 13u) << "the replay line has the data's own seed";
}

TEST(Gate, UrgencyOfExitCodes) {
  EXPECT_EQ(more_urgent(ExitCode::kPassed, ExitCode::kUnmet), ExitCode::kUnmet);
  EXPECT_EQ(more_urgent(ExitCode::kUnmet, ExitCode::kMismatch), ExitCode::kMismatch);
  EXPECT_EQ(more_urgent(ExitCode::kCrashed, ExitCode::kMismatch), ExitCode::kCrashed);
  EXPECT_EQ(more_urgent(ExitCode::kCrashed, ExitCode::kSelfTest), ExitCode::kSelfTest);
  EXPECT_EQ(more_urgent(ExitCode::kUsage, ExitCode::kSelfTest), ExitCode::kUsage);
}

TEST(Tiers, ListsParseAndHaveFloors) {
  for (const Tier& tier : tiers()) {
    Result<std::vector<Case>> cases = parse_case_list(tier.list);
    ASSERT_TRUE(cases.ok()) << tier.name << ": " << cases.error().message();
    EXPECT_GT(cases->size(), 20u) << tier.name;
    EXPECT_GT(tier.floors.pairs, 0);
    EXPECT_TRUE(tier.floors.every_fill && tier.floors.every_routing && tier.floors.every_tail);
    EXPECT_DOUBLE_EQ(tier.floors.real_singletons, 0.6);
  }
  EXPECT_NE(find_tier("smoke"), nullptr);
  EXPECT_EQ(find_tier("smok"), nullptr);
}

}  // namespace
}  // namespace moe4::oracle
