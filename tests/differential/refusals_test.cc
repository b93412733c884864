// What is refused, and by which rule: the reference against the slow model's validity predicate.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/differential/breakages.h"
#include "tests/support/problems/build_problem.h"
#include "tests/support/problems/check_property.h"
#include "tests/support/problems/fingerprint.h"

namespace differential {
namespace {

constexpr problems::Drawn kNotEmpty = {.non_finite = true, .ids_absent = true, .empty = false};

// "VAL-4" of "VAL-4: shapes agree".
std::string id_of(const moe4::Error& error) { return error.rule.substr(0, error.rule.find(':')); }

// Makes the call; "" if the reference refuses by `rule` ("" for: accepts) and a refusal wrote nothing.
std::string complaint(Call& call, const std::string& rule) {
  std::fill_n(call.output.data(), call.output.bytes(), std::byte{0xA5});
  const moe4::Status status = moe4::mxfp4_expert_linear(call.inputs, call.out, call.policy);
  const std::string by = status ? id_of(*status) : "";
  if (by != rule) {
    return "the rule is '" + rule + "', the reference says '" + (status ? status->message() : "accepted") +
           "'";
  }
  const bool untouched = std::all_of(call.output.data(), call.output.data() + call.output.bytes(),
                                     [](std::byte b) { return b == std::byte{0xA5}; });
  return status && !untouched ? "a refused call wrote output" : "";
}

// The same of the validation that knows no output.
std::string complaint_without_output(const Call& call, const std::string& rule) {
  const auto dims = moe4::validate_mxfp4_expert_linear(call.inputs, call.policy);
  const std::string by = dims.ok() ? "" : id_of(dims.error());
  return by == rule ? "" : "the rule is '" + rule + "', the validation says '" + by + "'";
}

TEST(Refusals, EachBreakageByItsRule) {
  slow_model::Problem plain =
      problems::plain_problem({.tokens = 2, .experts = 3, .in = 64, .out = 2, .top_k = 2});
  for (const bool wide : {false, true}) {
    plain.wide_ids = wide;
    for (const Breakage& breakage : breakages()) {
      Call call(plain);
      breakage.apply(call);
      EXPECT_EQ(slow_model::first_broken_rule(describe(call)), breakage.rule()) << breakage.name;
      EXPECT_EQ(complaint(call, breakage.rule()), "") << breakage.name;
      const bool of_output = breakage.name.find("output") != std::string::npos &&
                             breakage.name.find("shared_output") == std::string::npos;
      if (!of_output && breakage.rule() != "VAL-7") {
        EXPECT_EQ(complaint_without_output(call, breakage.rule()), "") << breakage.name;
      }
    }
  }
}

// The comparison used here notices a refusal, a missing refusal and a wrong rule.
TEST(Refusals, TheComparisonCanFail) {
  Call valid(problems::plain_problem({}));
  EXPECT_EQ(complaint(valid, ""), "");
  EXPECT_NE(complaint(valid, "VAL-4"), "");
  Call broken(problems::plain_problem({}));
  broken.inputs.latent_tokens.shape[1] = 33;
  EXPECT_EQ(complaint(broken, "VAL-3"), "");
  EXPECT_NE(complaint(broken, ""), "");
  EXPECT_NE(complaint(broken, "VAL-4"), "");
}

// Of two rules broken at once the first on the page is named.
TEST(Refusals, TheFirstBrokenRuleIsNamed) {
  const std::vector<Breakage> all = breakages();
  const auto agree = [&](const slow_model::Problem& problem) -> std::string {
    const std::uint64_t choice = problems::fingerprint(problem);
    const Breakage& first = all[choice % all.size()];
    const Breakage& second = all[choice / all.size() % all.size()];
    Call call(problem);
    first.apply(call);
    // Shapes are edited by axis, which the first edit may have taken away; and two shapes edited alike agree
    // again.
    const bool ranks_stand =
        slow_model::first_broken_rule(describe(call)) != "VAL-1" && call.out.shape.size() == 2;
    const bool may_agree_again = first.rule() == "VAL-4" && second.rule() == "VAL-4";
    if (ranks_stand && !may_agree_again) second.apply(call);
    const std::string rule = slow_model::first_broken_rule(describe(call));
    const std::string wrong = complaint(call, rule);
    return wrong.empty() ? "" : first.name + " and " + second.name + ": " + wrong;
  };
  EXPECT_EQ(problems::counterexample(agree, 6000, kNotEmpty, /*shrink=*/false), "");
}

TEST(Refusals, TheMessageNamesTokenSlotAndId) {
  slow_model::Problem problem = problems::plain_problem({.tokens = 3, .experts = 2, .top_k = 4});
  problem.selected_experts[2 * 4 + 3] = 57;
  const auto refused = reference_call::outputs(problem);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "selected_experts");
  for (const char* part : {"2", "3", "57"}) {
    EXPECT_NE(refused.error().message().find(part), std::string::npos) << refused.error().message();
  }
}

// What looks like a refusal and is none.
TEST(Refusals, AcceptedCalls) {
  const auto accepted = [](Call& call) {
    EXPECT_EQ(slow_model::first_broken_rule(describe(call)), "");
    return complaint(call, "");
  };
  Call no_tokens(problems::plain_problem({.tokens = 0}));
  no_tokens.inputs.latent_tokens.data = no_tokens.inputs.selected_experts.data = nullptr;
  no_tokens.inputs.mixture_weights.data = no_tokens.inputs.shared_output.data = nullptr;
  no_tokens.out.data = nullptr;
  EXPECT_EQ(accepted(no_tokens), "") << "null data without elements";

  Call no_outputs(problems::plain_problem({.out = 0}));
  no_outputs.inputs.packed_weights.data = no_outputs.inputs.scale_bytes.data = nullptr;
  EXPECT_EQ(accepted(no_outputs), "") << "null weights without elements";

  Call no_experts(problems::plain_problem({.experts = 1, .top_k = 0}));
  no_experts.inputs.packed_weights.shape[0] = no_experts.inputs.scale_bytes.shape[0] = 0;
  EXPECT_EQ(accepted(no_experts), "") << "no experts and no slots";

  Call broadcast(problems::plain_problem({.tokens = 3, .top_k = 2}));
  broadcast.inputs.latent_tokens.strides = {0, 0};
  broadcast.inputs.mixture_weights.strides = {0, 0};
  EXPECT_EQ(accepted(broadcast), "") << "strides of 0";
}

// The output may begin where an input ends.
TEST(Refusals, TheOutputMayTouchAnInput) {
  Call call(problems::plain_problem({.out = 4}));
  moe4::Tensor both(moe4::Dtype::kBF16, {2, 4});
  call.inputs.shared_output.data = both.data();
  call.out.data = both.data() + 8;
  EXPECT_EQ(slow_model::first_broken_rule(describe(call)), "");
  EXPECT_FALSE(moe4::mxfp4_expert_linear(call.inputs, call.out, call.policy).has_value());
  EXPECT_EQ(both.as<std::uint16_t>()[4], 0x4200);  // 32.0
  call.out.data = both.data() + 6;
  EXPECT_EQ(complaint(call, "VAL-7"), "");
}

// VAL-7 speaks of spans: rows of shared_output that lie apart, with the output in the gap.
TEST(Refusals, TheOutputInAGapOfAnInputIsRefused) {
  Call call(problems::plain_problem({.tokens = 2, .out = 4}));
  moe4::Tensor both(moe4::Dtype::kBF16, {6, 4});
  call.inputs.shared_output.data = both.data();
  call.inputs.shared_output.strides = {20, 1};
  call.out.data = both.data() + 16;  // rows 2 and 3
  EXPECT_EQ(slow_model::first_broken_rule(describe(call)), "VAL-7");
  EXPECT_EQ(moe4::mxfp4_expert_linear(call.inputs, call.out, call.policy)->rule.substr(0, 5), "VAL-7");
  call.inputs.shared_output.strides = {4, 1};
  call.out.data = both.data() + 32;
  EXPECT_EQ(slow_model::first_broken_rule(describe(call)), "");
  EXPECT_FALSE(moe4::mxfp4_expert_linear(call.inputs, call.out, call.policy).has_value());
}

}  // namespace
}  // namespace differential
