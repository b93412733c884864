// Pairwise covers: every pair of values that a subject accepts is in a case, each case can be generated, and
// a pair that was not judged makes a gate red.
#include "oracle/gate/pairwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gpu/launch/variant.h"
#include "oracle/gate/factors.h"
#include "oracle/gate/gate.h"
#include "oracle/generate/generate.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

std::vector<Declaration> kernels() {
  std::vector<Declaration> declarations;
  for (const gpu::Variant& variant : gpu::variants()) {
    declarations.push_back(parse_declaration(variant.declaration).value());
  }
  return declarations;
}

std::vector<const Declaration*> pointers(const std::vector<Declaration>& declarations) {
  std::vector<const Declaration*> all;
  for (const Declaration& d : declarations) all.push_back(&d);
  return all;
}

// The results of a cover, as if every case had passed.
std::vector<std::vector<CaseResult>> passed(const std::vector<Declaration>& declarations,
                                            const std::vector<PairwiseCover>& covers) {
  std::vector<std::vector<CaseResult>> results(declarations.size());
  for (const PairwiseCover& cover : covers) {
    for (const CoverCase& one : cover.cases) {
      for (std::size_t d = 0; d < declarations.size(); ++d) {
        if (declarations[d].name != one.subject) continue;
        results[d].emplace_back();
        results[d].back().line = one.line;
        results[d].back().verdict.status = VerdictStatus::kPassed;
      }
    }
  }
  return results;
}

std::vector<PairsJudged> judged_in(const std::vector<Declaration>& declarations,
                                   const std::vector<std::vector<CaseResult>>& results) {
  std::vector<std::span<const CaseResult>> spans(results.begin(), results.end());
  return pairs_judged(pointers(declarations), spans);
}

bool names(const std::vector<std::string>& pairs, const std::string& pair) {
  return std::find(pairs.begin(), pairs.end(), pair) != pairs.end();
}

TEST(GatePairwise, TheKernelsHaveEveryFamily) {
  const std::vector<Declaration> declarations = kernels();
  std::set<std::string> families;
  for (const PairwiseCover& cover : pairwise_covers(pointers(declarations))) families.insert(cover.family);
  EXPECT_EQ(families, (std::set<std::string>{"expert_linear mxfp4", "indexed mxfp4", "indexed int4",
                                             "grouped_contiguous mxfp4", "grouped_contiguous int4",
                                             "grouped_masked mxfp4", "grouped_masked int4", "combine"}));
}

TEST(GatePairwise, EveryPossiblePairIsInACaseOfItsSubject) {
  const std::vector<Declaration> declarations = kernels();
  const std::vector<PairwiseCover> covers = pairwise_covers(pointers(declarations));
  const std::vector<PairsJudged> judged = judged_in(declarations, passed(declarations, covers));
  ASSERT_EQ(judged.size(), covers.size());
  for (std::size_t f = 0; f < covers.size(); ++f) {
    SCOPED_TRACE(covers[f].family);
    EXPECT_GT(covers[f].possible, 300);
    EXPECT_EQ(judged[f].possible, covers[f].possible);
    EXPECT_EQ(judged[f].judged, covers[f].possible);
    EXPECT_TRUE(judged[f].lost.empty());
    // A case has 28 pairs; the largest two factors alone need their product.
    EXPECT_GE(static_cast<std::int64_t>(covers[f].cases.size()) * 28, covers[f].possible);
    EXPECT_LE(covers[f].cases.size(), 260u);
  }
}

TEST(GatePairwise, EveryCaseIsAcceptedAndCanBeGenerated) {
  const std::vector<Declaration> declarations = kernels();
  for (const PairwiseCover& cover : pairwise_covers(pointers(declarations))) {
    for (const CoverCase& one : cover.cases) {
      const auto owner = std::find_if(declarations.begin(), declarations.end(),
                                      [&](const Declaration& d) { return d.name == one.subject; });
      ASSERT_NE(owner, declarations.end());
      EXPECT_EQ(owner->refuses(one.line).value_or(""), "") << to_string(one.line);
      const Result<CaseData> data = generate(one.line);
      EXPECT_TRUE(data.ok()) << to_string(one.line) << ": " << data.error().message();
    }
  }
}

// Without this the floor would count whatever is left.
TEST(GatePairwise, ALostPairIsNamed) {
  const std::vector<Declaration> declarations = kernels();
  std::vector<std::vector<CaseResult>> results =
      passed(declarations, pairwise_covers(pointers(declarations)));
  for (std::vector<CaseResult>& own : results) {
    std::erase_if(own, [](const CaseResult& result) {
      return result.line.op == Op::kCombine && result.line.fill == Fill::kTies &&
             result.line.routing == Routing::kHot;
    });
  }
  for (const PairsJudged& family : judged_in(declarations, results)) {
    EXPECT_EQ(family.lost.empty(), family.family != "combine") << to_string(family);
    if (family.family == "combine") {
      EXPECT_TRUE(names(family.lost, "fill=ties with routing=hot")) << family.lost.front();
    }
  }
}

TEST(GatePairwise, WhatNoSubjectAcceptsIsExcludedWithTheReason) {
  Declaration narrow =
      parse_declaration(R"({"schema": 1, "name": "narrow", "op": "indexed", "weights": "int4",
      "dtypes": ["bf16"], "in_multiple": 128, "block_m": [16, 64]})")
          .value();
  const std::vector<Declaration> declarations = {narrow};
  const std::vector<PairwiseCover> covers = pairwise_covers(pointers(declarations));
  ASSERT_EQ(covers.size(), 1u);
  std::int64_t excluded = 0;
  for (const auto& [reason, pairs] : covers[0].excluded) {
    EXPECT_TRUE(reason.starts_with("tail=")) << reason;
    excluded += pairs;
  }
  EXPECT_GT(excluded, 0);
  for (const CoverCase& one : covers[0].cases) EXPECT_EQ(one.line.in % 128, 0);
}

GateReport gate_with_covers(std::span<Subject* const> subjects) {
  GateOptions options;
  options.pairs = true;
  options.hold = HoldCases::kNone;
  return run_gate(subjects,
                  {*parse_case("op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5")},
                  options);
}

// A case of a cover is run by one subject; the list by all.
TEST(GatePairwise, TheGateRunsTheCovers) {
  FakeSubject a("a"), b("b");
  a.mutable_declaration().dtypes = b.mutable_declaration().dtypes = {Dtype::kBF16};
  Subject* const subjects[] = {&a, &b};
  const GateReport report = gate_with_covers(subjects);
  const std::vector<const Declaration*> declarations = {&a.declaration(), &b.declaration()};
  const auto cases = static_cast<std::int64_t>(pairwise_covers(declarations).front().cases.size());
  EXPECT_EQ(report.cases, 1 + cases);
  EXPECT_EQ(report.tallies[0].ran + report.tallies[1].ran, 2 + cases);
  EXPECT_EQ(a.runs + b.runs, 2 + cases);
  EXPECT_GT(report.tallies[0].ran, 10);
  EXPECT_GT(report.tallies[1].ran, 10);
  ASSERT_EQ(report.pairs.size(), 1u);
  EXPECT_EQ(report.pairs[0].judged, report.pairs[0].possible);
  EXPECT_EQ(report.exit_code(), ExitCode::kPassed);
}

TEST(GatePairwise, AGateThatLosesAPairIsRed) {
  FakeSubject subject("a", [](const CaseData& data, SubjectRun& run) {
    if (data.line->routing == Routing::kHot && data.line->fill == Fill::kTies) {
      run.outcome = SubjectRun::Outcome::kUnsupported;
    }
  });
  subject.mutable_declaration().dtypes = {Dtype::kBF16};
  Subject* const subjects[] = {&subject};
  const GateReport report = gate_with_covers(subjects);
  ASSERT_EQ(report.pairs.size(), 1u);
  EXPECT_TRUE(names(report.pairs[0].lost, "fill=ties with routing=hot")) << report.pairs[0].lost.front();
  EXPECT_EQ(report.exit_code(), ExitCode::kUnmet);
}

}  // namespace
}  // namespace moe4::oracle
