#include <limits>

#include "tests/differential/listed_cases.h"
#include "tests/support/problems/build_problem.h"

namespace differential {
namespace {

using namespace problems;
using namespace slow_model;

constexpr double kInf = std::numeric_limits<double>::infinity();

// y = RNE( s + p * sum of the tokens ), all weights 1.
Problem sum_of(const FloatFormat& token_format, const std::vector<double>& tokens,
               const FloatFormat& p_format, double p, const FloatFormat& shared_format, double shared) {
  Problem problem = plain_problem({}, token_format);
  set_tokens(problem, 0.0);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    set_token(problem, 0, static_cast<std::int64_t>(i), tokens[i]);
  }
  set_p(problem, p_format, {p});
  set_shared(problem, shared_format, {shared});
  return problem;
}

}  // namespace

std::vector<ListedCase> rounding_cases() {
  std::vector<ListedCase> cases;
  const auto add = [&](const char* name, Problem problem, std::vector<double> expected) {
    cases.push_back({name, std::move(problem), std::move(expected)});
  };
  add("F32LargeTermsCancel", sum_of(kF32, {0x1p24, 1, -0x1p24}, kF32, 1, kF32, 0), {1});
  add("F32FarTermsCancel", sum_of(kF32, {0x1p120, 0x1p-140, -0x1p120}, kF32, 1, kF32, 0), {0x1p-140});
  add("F32TieToEven", sum_of(kF32, {0x1p24, 1}, kF32, 1, kF32, 0), {0x1p24});
  add("F32TieBrokenByTheSmallest", sum_of(kF32, {0x1p24, 1, 0x1p-149}, kF32, 1, kF32, 0), {0x1.000002p24});
  add("Bf16RoundsOnce", sum_of(kBf16, {256, 1}, kF32, 1, kF32, 0x1p-20), {258});
  add("Bf16TieToEven", sum_of(kBf16, {256, 1}, kF32, 1, kF32, 0), {256});
  add("Bf16TieToEvenUp", sum_of(kBf16, {256, 2, 1}, kF32, 1, kF32, 0), {260});
  add("Bf16TieBrokenByF64Shared", sum_of(kBf16, {256, 1}, kF32, 1, kF64, -0x1p-1000), {256});
  add("Bf16TieBrokenUpByF64Shared", sum_of(kBf16, {256, 1}, kF32, 1, kF64, 0x1p-1074), {258});
  add("Bf16TieBrokenByF64P", sum_of(kBf16, {256, 1}, kF64, 0x1.0000000000001p0, kF32, 0), {258});
  add("Bf16NotThroughF32", sum_of(kBf16, {0x1p30, 0x1p22, 0x1p-20}, kF32, 1, kBf16, 0), {0x1.02p30});
  add("Bf16Overflow", sum_of(kBf16, {0x1.fep127, 0x1p119}, kF32, 1, kF32, 0), {kInf});
  add("Bf16JustBelowOverflow", sum_of(kBf16, {0x1.fep127, 0x1p119}, kF32, 1, kF32, -0x1p-149), {0x1.fep127});
  add("Bf16Subnormal", sum_of(kBf16, {0x3p-133}, kF32, 0.5, kF32, 0), {0x2p-133});
  add("Bf16SubnormalTieDown", sum_of(kBf16, {0x1p-133}, kF32, 0.5, kF32, 0), {0.0});
  add("F16Overflow", sum_of(kF16, {65504, 16}, kF32, 1, kF32, 0), {kInf});
  add("F16JustBelowOverflow", sum_of(kF16, {65504, 15}, kF32, 1, kF32, 0), {65504});
  add("F16NoOverflowInside", sum_of(kF16, {65504, 65504, -65504}, kF32, 1, kF32, 0), {65504});
  add("F16Subnormal", sum_of(kF16, {0x1p-24, 0x1p-23}, kF16, 1, kF16, 0), {0x3p-24});
  add("F16HalfTheSmallestIsZero", sum_of(kF16, {-0x1p-24}, kF16, 0.5, kF16, 0), {-0.0});
  add("F16MoreThanHalfTheSmallest", sum_of(kF16, {-0x1p-24}, kF64, 0x1.0000000000001p-1, kF16, 0),
      {-0x1p-24});
  add("F64LargeTermsCancel", sum_of(kF64, {0x1p1000, 0x1p-1074, -0x1p1000}, kF64, 1, kF64, 0), {0x1p-1074});
  add("F64TieToEven", sum_of(kF64, {0x1p53, 1}, kF64, 1, kF64, 0), {0x1p53});
  add("F64TieBrokenByTheSmallest", sum_of(kF64, {0x1p53, 1}, kF64, 1, kF64, 0x1p-1074),
      {0x1.0000000000001p53});
  add("F64ProductNotRounded",
      sum_of(kF64, {0x1.0000000000001p0, -0x1.0000000000002p0}, kF64, 0x1.0000000000001p0, kF64, 0x1p-52),
      {-0x1p-104});
  add("F64Overflow", sum_of(kF64, {0x1.fffffffffffffp1023, 0x1p970}, kF64, 1, kF64, 0), {kInf});
  add("F64JustBelowOverflow", sum_of(kF64, {0x1.fffffffffffffp1023, 0x1p970}, kF64, 1, kF64, -0x1p-1074),
      {0x1.fffffffffffffp1023});
  add("F64TokensBf16Others", sum_of(kF64, {0x1.0000000000001p0}, kBf16, 0.5, kBf16, -0.25),
      {0x1.0000000000002p-2});
  return cases;
}

}  // namespace differential
