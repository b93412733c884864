#include <limits>

#include "tests/differential/listed_cases.h"
#include "tests/support/problems/build_problem.h"

namespace differential {
namespace {

using namespace problems;
using namespace slow_model;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One non-zero token x at element 0, so that the result is p * w_0 * x + s.
Problem one_weight(int code, int scale, double x, const FloatFormat& format = kBf16) {
  Problem problem = plain_problem({}, format);
  set_tokens(problem, 0.0);
  set_token(problem, 0, 0, x);
  set_codes(problem, code);
  set_scales(problem, scale);
  return problem;
}

Problem with(Problem problem, ScaleNan policy) {
  problem.policy.scale_nan = policy;
  return problem;
}

Problem with(Problem problem, ScaleZero policy) {
  problem.policy.scale_zero = policy;
  return problem;
}

Problem with(Problem problem, SkipZeroP policy) {
  problem.policy.skip_zero_p = policy;
  return problem;
}

Problem with_shared(Problem problem, std::vector<double> shared, const FloatFormat& format = kF32) {
  set_shared(problem, format, shared);
  return problem;
}

Problem with_p(Problem problem, std::vector<double> p, const FloatFormat& format = kF32) {
  set_p(problem, format, p);
  return problem;
}

Problem with_token(Problem problem, std::int64_t t, std::int64_t i, double value) {
  set_token(problem, t, i, value);
  return problem;
}

Problem with_code(Problem problem, std::int64_t i, int code) {
  set_code(problem, 0, 0, i, code);
  return problem;
}

Problem with_ids(Problem problem, std::vector<std::int64_t> ids, Ids policy = Ids::kError) {
  problem.selected_experts = std::move(ids);
  problem.policy.ids = policy;
  return problem;
}

// Pairs +1, -1 of weights: d = 0 from 32 terms of 1.
Problem cancelling_dot() {
  Problem problem = plain_problem({});
  for (std::int64_t i = 0; i < 32; i += 2) set_code(problem, 0, 0, i, 10);
  return problem;
}

// Expert 1 is never selected and holds nothing but codes 7 and NaN scales.
Problem poisoned() {
  Problem problem = with_ids(plain_problem({.tokens = 2, .experts = 3, .top_k = 2}), {0, 2, 2, 0});
  set_group(problem, 1, 0, 0, 7);
  set_scale(problem, 1, 0, 0, 255);
  return problem;
}

void add_scale_cases(std::vector<ListedCase>& cases) {
  const auto add = [&](const char* name, Problem problem, std::vector<double> expected) {
    cases.push_back({name, std::move(problem), std::move(expected)});
  };
  add("Scale255Ocp", one_weight(2, 255, 1.0), {kNaN});
  add("Scale255OcpZeroCodes", one_weight(0, 255, 1.0), {kNaN});
  add("Scale255OcpMinusZeroCodes", one_weight(8, 255, 1.0), {kNaN});
  add("Scale255Formula", with(one_weight(3, 255, 0x1p-100), ScaleNan::kFormula), {0x3p27});
  add("Scale255FormulaZeroCodes", with(one_weight(8, 255, 1.0), ScaleNan::kFormula), {0.0});
  add("Scale255FormulaOverflowsAtTheEnd", with(one_weight(2, 255, 1.0), ScaleNan::kFormula), {kInf});
  Problem all_ones = plain_problem({});
  set_scales(all_ones, 255);
  add("Scale255Inf", with(all_ones, ScaleNan::kInf), {kInf});
  add("Scale255FormulaSum", with_token(with(all_ones, ScaleNan::kFormula), 0, 0, -31.0), {0.0});
  Problem all_minus_ones = all_ones;
  set_codes(all_minus_ones, 10);
  add("Scale255InfNegative", with(all_minus_ones, ScaleNan::kInf), {-kInf});
  add("Scale255InfZeroCode", with_code(with(all_ones, ScaleNan::kInf), 9, 0), {kNaN});
  add("Scale255InfMinusZeroCode", with_code(with(all_ones, ScaleNan::kInf), 9, 8), {kNaN});
  add("Scale255InfMixedSigns", with_code(with(all_ones, ScaleNan::kInf), 9, 10), {kNaN});
  add("Scale255InfZeroToken", with_token(with(all_ones, ScaleNan::kInf), 0, 9, 0.0), {kNaN});
  add("Scale0Exact", one_weight(2, 0, 0x1p122), {0x1p-5});
  add("Scale0ExactSubnormalWeight", one_weight(9, 0, 0x1p120), {-0x1p-8});
  add("Scale0Flush", with(one_weight(2, 0, 0x1p122), ScaleZero::kFlush), {0.0});
  add("Scale0FlushKeepsScale1", with(one_weight(2, 1, 0x1p122), ScaleZero::kFlush), {0x1p-4});
  add("Scale0FlushInfToken", with(one_weight(2, 0, kInf), ScaleZero::kFlush), {kNaN});
  add("Scale254BeyondBf16", one_weight(7, 254, 0x1p-100), {0x6p27});
  add("Scale253BeyondBf16", one_weight(15, 253, 0x1p-90), {-0x3p37});
  add("Scale254OverflowsAtTheEnd", one_weight(7, 254, 1.0), {kInf});
  add("Scale254CancelsExactly", with_shared(with_token(one_weight(7, 254, 0x1p100), 0, 1, -0x1p100), {5.0}),
      {5.0});
}

void add_zero_cases(std::vector<ListedCase>& cases) {
  const auto add = [&](const char* name, Problem problem, std::vector<double> expected) {
    cases.push_back({name, std::move(problem), std::move(expected)});
  };
  add("MinusZeroCodes", one_weight(8, 127, 1.0), {0.0});
  add("MinusZeroCodesNegativeShared", with_shared(one_weight(8, 127, 1.0), {-0.0}), {0.0});
  add("MinusZeroTokens", with_shared(one_weight(2, 127, -0.0), {-0.0}), {0.0});
  add("CancelledDotNegativeShared", with_shared(cancelling_dot(), {-0.0}), {0.0});
  add("SharedCancelsTheRest", with_shared(plain_problem({}), {-32.0}), {0.0});
  const Problem no_slots = plain_problem({.out = 3, .top_k = 0});
  add("NoSlotsKeepSharedsZero", with_shared(no_slots, {-0.0, 0.0, -3.5}), {-0.0, 0.0, -3.5});
  add("NoSlotsNonFiniteShared", with_shared(no_slots, {-kInf, kNaN, kInf}), {-kInf, kNaN, kInf});
  add("NoSlotsRoundOnce", with_shared(no_slots, {0x1.01p0, 0x1.03p0, -0x1p-149}), {1.0, 0x1.04p0, -0.0});
  add("NoTokens", plain_problem({.tokens = 0}), {});
  add("NoOutputs", plain_problem({.out = 0}), {});
  add("NonZeroThatRoundsToZero", with_p(one_weight(2, 0, -0x1p-10), {1.0}), {-0.0});
}

void add_non_finite_cases(std::vector<ListedCase>& cases) {
  const auto add = [&](const char* name, Problem problem, std::vector<double> expected) {
    cases.push_back({name, std::move(problem), std::move(expected)});
  };
  const Problem rows = plain_problem({.tokens = 2, .out = 2});
  add("NanToken", with_token(rows, 0, 31, kNaN), {kNaN, kNaN, 32.0, 32.0});
  add("NanTokenTimesZeroCode", with_code(with_token(rows, 1, 31, kNaN), 31, 0), {31.0, 32.0, kNaN, kNaN});
  add("InfToken", with_token(rows, 0, 3, -kInf), {-kInf, -kInf, 32.0, 32.0});
  add("InfTokenTimesZeroCode", with_code(with_token(rows, 0, 3, kInf), 3, 8), {kNaN, kInf, 31.0, 32.0});
  add("InfTokensOfBothSigns", with_token(with_token(rows, 0, 3, kInf), 0, 4, -kInf),
      {kNaN, kNaN, 32.0, 32.0});
  add("InfTokenNegativeCode", with_code(with_token(rows, 0, 3, kInf), 3, 10), {-kInf, kInf, 30.0, 32.0});
  add("InfiniteSharedAgainstInfiniteSum",
      with_shared(with_token(rows, 0, 3, kInf), {-kInf, kInf, 1.0, -kInf}), {kNaN, kInf, 33.0, -kInf});
  add("NanShared", with_shared(rows, {kNaN, 1.0, 2.0, 3.0}), {kNaN, 33.0, 34.0, 35.0});
  add("InfinitePTakesTheSignOfTheDot", with_p(one_weight(10, 127, 1.0), {kInf}), {-kInf});
  add("InfinitePOnATinyDot", with_p(one_weight(1, 0, 0x1p-133), {-kInf}), {-kInf});
  add("InfinitePOnACancelledDot", with_p(cancelling_dot(), {kInf}), {kNaN});
  add("NanP", with_p(plain_problem({}), {kNaN}), {kNaN});
  add("InfinitePsOfBothSigns", with_p(plain_problem({.top_k = 2}), {kInf, -kInf}), {kNaN});
}

void add_routing_cases(std::vector<ListedCase>& cases) {
  const auto add = [&](const char* name, Problem problem, std::vector<double> expected) {
    cases.push_back({name, std::move(problem), std::move(expected)});
  };
  add("ZeroP", with_shared(with_p(plain_problem({}), {0.0}), {3.0}), {3.0});
  add("ZeroPTimesInf", with_p(with_token(plain_problem({}), 0, 0, kInf), {0.0}), {kNaN});
  add("ZeroPTimesNanScale", with_p(one_weight(2, 255, 1.0), {-0.0}), {kNaN});
  add("ZeroPSkippedBeforeInf",
      with_shared(with(with_p(with_token(plain_problem({}), 0, 0, kInf), {-0.0}), SkipZeroP::kYes), {-0.0}),
      {-0.0});
  add("ZeroPSkippedOtherCounts", with(with_p(plain_problem({.top_k = 2}), {0.0, 0.5}), SkipZeroP::kYes),
      {16.0});
  add("PoisonedUnselectedExpert", poisoned(), {64.0, 64.0});
  add("DuplicateExpert", with_p(plain_problem({.top_k = 2}), {0.25, 0.5}), {24.0});
  add("TripleExpert", with_ids(with_p(plain_problem({.experts = 2, .top_k = 3}), {1.0, 1.0, 1.0}), {1, 1, 1}),
      {96.0});
  add("PsNotNormalised", with_p(plain_problem({.top_k = 2}), {3.0, -0.5}), {80.0});
  add("AbsentSlotIgnoresItsP",
      with_p(with_ids(plain_problem({.top_k = 2}), {-1, 0}, Ids::kAbsent), {kNaN, 2.0}), {64.0});
  add("AllSlotsAbsentKeepsSharedsZero",
      with_shared(with_ids(plain_problem({.top_k = 2}), {-1, -1}, Ids::kAbsent), {-0.0}), {-0.0});
  add("AbsentWithoutUse", with_ids(plain_problem({}), {0}, Ids::kAbsent), {32.0});
}

}  // namespace

std::vector<ListedCase> corner_cases() {
  std::vector<ListedCase> cases;
  add_scale_cases(cases);
  add_zero_cases(cases);
  add_non_finite_cases(cases);
  add_routing_cases(cases);
  return cases;
}

}  // namespace differential
