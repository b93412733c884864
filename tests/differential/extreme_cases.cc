// The largest and the smallest terms that a dtype allows, in one sum: an accumulator one bit short at either
// end fails here.
#include <limits>

#include "tests/differential/listed_cases.h"
#include "tests/support/problems/build_problem.h"

namespace differential {
namespace {

using namespace problems;
using namespace slow_model;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Two experts, two groups. Expert 0 sees only x_0, in group 0; expert 1 sees only x_32, in group 1, which is
// the smallest subnormal, through the smallest weight, 2^-128.
Problem two_ends(const FloatFormat& format, std::vector<std::int64_t> ids) {
  Problem problem =
      plain_problem({.experts = 2, .in = 64, .top_k = static_cast<std::int64_t>(ids.size())}, format);
  set_codes(problem, 0);
  set_tokens(problem, 0.0);
  problem.latent_tokens.bits[32] = 1;
  set_code(problem, 1, 0, 32, 1);
  set_scale(problem, 1, 0, 1, 0);
  problem.selected_experts = std::move(ids);
  return problem;
}

std::uint64_t largest(const FloatFormat& format) { return format.infinity() - 1; }

// Largest token, weight and p, cancelled by the opposite p; what stays is minus the smallest product there
// is.
Problem smallest_survives(const FloatFormat& format, const FloatFormat& p_format, ScaleNan policy) {
  Problem problem = two_ends(format, {0, 1, 0});
  problem.policy.scale_nan = policy;
  problem.latent_tokens.bits[0] = largest(format);
  set_code(problem, 0, 0, 0, 7);
  set_scale(problem, 0, 0, 0, policy == ScaleNan::kFormula ? 255 : 254);
  problem.mixture_weights = {
      p_format, {largest(p_format), p_format.sign_bit() | 1, p_format.sign_bit() | largest(p_format)}};
  return problem;
}

// The sum is the overflow threshold, plus or minus the smallest product.
Problem beside_the_threshold(const FloatFormat& format, const FloatFormat& p_format, bool above) {
  Problem problem = two_ends(format, {0, 1});
  const Dyadic largest_value = grid_point(format, largest(format));
  const Dyadic half_step = midpoint_above(format, largest(format)) - largest_value;
  problem.latent_tokens.bits[0] = round_to_nearest_even(format, half_step);
  set_code(problem, 0, 0, 0, 2);
  problem.mixture_weights = {p_format, {p_format.one(), above ? 1 : p_format.sign_bit() | 1}};
  problem.shared_output = {format, {largest(format)}};
  return problem;
}

}  // namespace

std::vector<ListedCase> extreme_cases() {
  std::vector<ListedCase> cases;
  const double largest_values[] = {0x1.fep127, 65504, 0x1.fffffep127, 0x1.fffffffffffffp1023};
  for (int n = 0; n < 4; ++n) {
    const FloatFormat format = kFloatFormats[n];
    for (const FloatFormat& p_format : kFloatFormats) {
      const std::string dtypes = std::string(format.name) + "With" + p_format.name + "P";
      cases.push_back(
          {"SmallestSurvives" + dtypes, smallest_survives(format, p_format, ScaleNan::kOcp), {-0.0}});
      cases.push_back({"SmallestSurvivesFormula" + dtypes,
                       smallest_survives(format, p_format, ScaleNan::kFormula),
                       {-0.0}});
      cases.push_back({"AboveTheThreshold" + dtypes, beside_the_threshold(format, p_format, true), {kInf}});
      cases.push_back(
          {"BelowTheThreshold" + dtypes, beside_the_threshold(format, p_format, false), {largest_values[n]}});
    }
  }
  return cases;
}

}  // namespace differential
