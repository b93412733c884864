// The generator is only worth something if the rare events are in what it draws: each is counted here,
// against a floor.
#include "tests/support/problems/generators.h"

#include <gtest/gtest.h>
#include <rapidcheck/Random.h>
#include <rapidcheck/Shrinkable.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/support/problems/shrink_problem.h"
#include "tests/support/slow_model/expert_linear.h"
#include "tests/support/slow_model/validity.h"

namespace problems {
namespace {

using namespace slow_model;

std::vector<Problem> drawn_problems(int count, const Drawn& drawn = {}) {
  const rc::Gen<Problem> generator = any_problem(drawn);
  std::vector<Problem> result;
  for (int n = 0; n < count; ++n) {
    result.push_back(generator(rc::Random(static_cast<std::uint64_t>(n)), 100).value());
  }
  return result;
}

CallDescription describe(const Problem& p) {
  CallDescription call;
  call.latent_tokens = {p.latent_tokens.format.name, {p.tokens, p.in()}, {}, 1 << 20};
  call.packed_weights = {"U8", {p.experts, p.out, p.groups, 16}, {}, 2 << 20};
  call.scale_bytes = {"U8", {p.experts, p.out, p.groups}, {}, 3 << 20};
  call.selected_experts = {p.wide_ids ? "I64" : "I32", {p.tokens, p.top_k}, {}, 4 << 20};
  call.mixture_weights = {p.mixture_weights.format.name, {p.tokens, p.top_k}, {}, 5 << 20};
  call.shared_output = {p.shared_output.format.name, {p.tokens, p.out}, {}, 6 << 20};
  call.output = {p.output_format().name, {p.tokens, p.out}, {}, 7 << 20};
  call.ids = p.selected_experts;
  call.absent_allowed = p.policy.ids == Ids::kAbsent;
  return call;
}

bool sizes_fit(const Problem& p) {
  const auto is = [](std::size_t size, std::int64_t n) { return static_cast<std::int64_t>(size) == n; };
  return is(p.latent_tokens.bits.size(), p.tokens * p.in()) &&
         is(p.packed_weights.size(), p.experts * p.out * p.row_bytes()) &&
         is(p.scale_bytes.size(), p.experts * p.out * p.groups) &&
         is(p.selected_experts.size(), p.tokens * p.top_k) &&
         is(p.mixture_weights.bits.size(), p.tokens * p.top_k) &&
         is(p.shared_output.bits.size(), p.tokens * p.out);
}

bool has_non_finite(const FloatTensor& tensor) {
  return std::any_of(tensor.bits.begin(), tensor.bits.end(),
                     [&](std::uint64_t bits) { return !value_of(tensor.format, bits).is_finite(); });
}

TEST(Generators, DrawAndShrinkOnlyValidProblems) {
  for (const Problem& problem : drawn_problems(80)) {
    ASSERT_TRUE(sizes_fit(problem)) << problem;
    ASSERT_EQ(first_broken_rule(describe(problem)), "") << problem;
    for (const Problem& smaller : shrinks(problem)) {
      ASSERT_TRUE(sizes_fit(smaller)) << smaller;
      ASSERT_EQ(first_broken_rule(describe(smaller)), "") << smaller;
    }
  }
}

TEST(Generators, LeaveOutWhatTheyAreToldTo) {
  for (const Problem& problem :
       drawn_problems(500, {.non_finite = false, .ids_absent = false, .empty = false})) {
    EXPECT_FALSE(has_non_finite(problem.latent_tokens) || has_non_finite(problem.mixture_weights) ||
                 has_non_finite(problem.shared_output));
    EXPECT_EQ(std::count(problem.scale_bytes.begin(), problem.scale_bytes.end(), 255), 0);
    EXPECT_EQ(std::count(problem.selected_experts.begin(), problem.selected_experts.end(), -1), 0);
    EXPECT_GT(problem.tokens * problem.out * problem.top_k, 0);
  }
}

// Hooks into the model to see what passes through it.
class Watched : public ExpertLinear {
 public:
  std::map<std::string, int>& events;
  explicit Watched(std::map<std::string, int>& counts) : events(counts) {}

 protected:
  Extended weighted(const Problem& problem, const Extended& p, const Extended& d) const override {
    events["slot with p = 0"] += p.is_finite() && p.sign() == 0;
    events["slot with a cancelled or zero dot"] += d.is_finite() && d.sign() == 0;
    events["slot with infinite p and zero dot"] += p.is_infinite() && d.is_finite() && d.sign() == 0;
    events["slot with infinite p and finite dot"] += p.is_infinite() && d.is_finite() && d.sign() != 0;
    return ExpertLinear::weighted(problem, p, d);
  }
};

void count_output(const Problem& problem, const Extended& exact, std::uint64_t y,
                  std::map<std::string, int>& events) {
  const FloatFormat& format = problem.output_format();
  const std::string dtype = std::string(" in ") + format.name;
  if (exact.is_nan()) {
    events["NaN" + dtype] += 1;
  } else if (exact.is_infinite()) {
    events["Inf from Inf" + dtype] += 1;
  } else if (exact.value.is_zero()) {
    events[((y & format.sign_bit()) != 0 ? "exact -0" : "exact +0") + dtype] += 1;
  } else {
    const std::uint64_t below = last_grid_point_not_above(format, exact.value);
    const bool inside = below < format.infinity();
    const bool tie = inside && exact.value.magnitude() == midpoint_above(format, below);
    events["tie" + dtype] += tie;
    events["tie at the overflow threshold" + dtype] += tie && below == format.infinity() - 1;
    events["tie between zero and the smallest" + dtype] += tie && below == 0;
    events["overflow" + dtype] += is_infinite(format, y);
    events["largest finite" + dtype] += (y & ~format.sign_bit()) == format.infinity() - 1;
    events["rounded to zero" + dtype] += is_zero(format, y);
    events["subnormal" + dtype] += y != 0 && (y & format.infinity()) == 0 && !is_zero(format, y);
    events["rounded" + dtype] += inside && exact.value.magnitude() != grid_point(format, below);
    events["exact" + dtype] += inside && exact.value.magnitude() == grid_point(format, below);
  }
}

void count_problem(const Problem& problem, std::map<std::string, int>& events) {
  events["no tokens"] += problem.tokens == 0;
  events["no outputs"] += problem.out == 0;
  events["no slots"] += problem.top_k == 0;
  events["I64 ids"] += problem.wide_ids;
  events["F64 beside BF16"] +=
      problem.latent_tokens.format == kBf16 && problem.mixture_weights.format == kF64;
  events["F64 shared beside F16"] +=
      problem.latent_tokens.format == kF16 && problem.shared_output.format == kF64;
  events["zero=strict"] += problem.policy.zero == ZeroCompare::kStrict;
  const auto& ids = problem.selected_experts;
  events["an absent slot"] += std::count(ids.begin(), ids.end(), -1) > 0;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    const auto first = ids.begin() + t * problem.top_k;
    const std::set<std::int64_t> distinct(first, first + problem.top_k);
    events["a duplicate expert"] += static_cast<std::int64_t>(distinct.size()) < problem.top_k;
    const bool none = ExpertLinear().slots(problem, t).empty();
    events["a token without slots"] += none;
    events["a token without slots by skip_zero_p"] +=
        none && problem.policy.ids == Ids::kError && problem.top_k > 0;
  }
  const auto scale = [&](int byte) {
    return std::count(problem.scale_bytes.begin(), problem.scale_bytes.end(), byte) > 0;
  };
  events["scale 0 exact"] += scale(0) && problem.policy.scale_zero == ScaleZero::kExact;
  events["scale 0 flush"] += scale(0) && problem.policy.scale_zero == ScaleZero::kFlush;
  events["scale 254"] += scale(254);
  events["scale 255 ocp"] += scale(255) && problem.policy.scale_nan == ScaleNan::kOcp;
  events["scale 255 formula"] += scale(255) && problem.policy.scale_nan == ScaleNan::kFormula;
  events["scale 255 inf"] += scale(255) && problem.policy.scale_nan == ScaleNan::kInf;
}

TEST(Generators, MeetTheCorners) {
  std::map<std::string, int> events;
  const Watched model(events);
  for (const Problem& problem : drawn_problems(3000)) {
    count_problem(problem, events);
    const std::vector<std::uint64_t> y = model.outputs(problem);
    for (std::int64_t t = 0; t < problem.tokens; ++t) {
      for (std::int64_t o = 0; o < problem.out; ++o) {
        const Extended exact = model.before_rounding(problem, t, o);
        count_output(problem, exact, y[static_cast<std::size_t>(t * problem.out + o)], events);
      }
    }
  }
  for (const auto& [event, count] : events) {
    EXPECT_GE(count, 10) << event;
  }
  EXPECT_EQ(events.size(), 21u + 13u * 4u);
}

}  // namespace
}  // namespace problems
