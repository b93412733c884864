// DATA-4: the data of a smaller case is the sub-tensor of the larger one.
#include <cstring>

#include "oracle/generate/store.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {
namespace {

// What the rule promises of every fill and routing, and what it excepts.
bool stable_in_width(const Case& c) { return c.fill != Fill::kOnehot && c.fill != Fill::kTallPairs; }
bool stable_in_slots(const Case& c) { return c.fill != Fill::kOnehot && c.routing != Routing::kBoundary; }

// The routings of expert_linear under its default policies.
std::vector<Routing> slot_routings() {
  std::vector<Routing> routings = all_routings();
  std::erase(routings, Routing::kSentinel);
  std::erase(routings, Routing::kMinusOne);
  std::erase(routings, Routing::kUnsorted);
  return routings;
}

void expect_inside(const CaseData& small, const CaseData& large) {
  const Case& c = *small.line;
  const Case& big = *large.line;
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    for (std::int64_t i = 0; i < c.in; ++i) {
      ASSERT_EQ(load_float_bits(small.latent_tokens, t * c.in + i),
                load_float_bits(large.latent_tokens, t * big.in + i))
          << to_string(c) << " token " << t << "," << i;
    }
    for (std::int64_t o = 0; o < c.out; ++o) {
      ASSERT_EQ(load_float_bits(small.shared_output, t * c.out + o),
                load_float_bits(large.shared_output, t * big.out + o));
    }
    for (std::int64_t j = 0; j < c.top_k; ++j) {
      ASSERT_EQ(load_float_bits(small.mixture_weights, t * c.top_k + j),
                load_float_bits(large.mixture_weights, t * big.top_k + j))
          << to_string(c);
    }
  }
}

// Experts that either case leaves unselected are not data (DATA-5).
void expect_weights_inside(const CaseData& small, const CaseData& large) {
  const Case& c = *small.line;
  for (std::int64_t n = 0; n < c.tokens * c.top_k; ++n) {
    const std::int64_t e = load_id(small.selected_experts, n);
    bool in_large = false;
    for (std::int64_t m = 0; m < large.line->tokens * large.line->top_k; ++m) {
      in_large |= load_id(large.selected_experts, m) == e;
    }
    if (!in_large) continue;
    for (std::int64_t o = 0; o < c.out; ++o) {
      for (std::int64_t g = 0; g < c.in / 32; ++g)
        ASSERT_EQ(scale_at(small, e, o, g), scale_at(large, e, o, g));
      for (std::int64_t i = 0; i < c.in; ++i) ASSERT_EQ(code_at(small, e, o, i), code_at(large, e, o, i));
    }
  }
}

void expect_ids_inside(const CaseData& small, const CaseData& large) {
  const Case& c = *small.line;
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    for (std::int64_t j = 0; j < c.top_k; ++j) {
      ASSERT_EQ(load_id(small.selected_experts, t * c.top_k + j),
                load_id(large.selected_experts, t * large.line->top_k + j))
          << to_string(c);
    }
  }
}

class SubTensor : public testing::TestWithParam<std::tuple<Fill, Routing, Dtype>> {};

TEST_P(SubTensor, FewerTokensOutputsGroupsSlotsAndExperts) {
  Case large;
  large.tokens = 11;
  large.experts = 12;
  large.top_k = 3;
  large.in = 160;
  large.out = 5;
  std::tie(large.fill, large.routing, large.dtype) = GetParam();
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    large.seed = seed;
    const CaseData whole = data_of(large);
    const auto check = [&](Case small, bool ids) {
      const CaseData part = data_of(small);
      expect_inside(part, whole);
      expect_weights_inside(part, whole);
      if (ids) expect_ids_inside(part, whole);
    };
    Case small = large;
    small.tokens = 8;
    check(small, true);
    small = large;
    small.out = 2;
    check(small, true);
    if (stable_in_width(large)) {
      small = large;
      small.in = 64;
      check(small, true);
    }
    if (stable_in_slots(large)) {
      small = large;
      small.top_k = 2;
      check(small, true);
    }
    small = large;
    small.experts = 10;
    check(small, false);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SubTensor,
                         testing::Combine(testing::ValuesIn(all_fills()), testing::ValuesIn(slot_routings()),
                                          testing::Values(Dtype::kBF16, Dtype::kF32)),
                         [](const auto& suite) {
                           return std::string(name_of(std::get<0>(suite.param))) + "_" +
                                  std::string(name_of(std::get<1>(suite.param))) + "_" +
                                  std::string(name_of(std::get<2>(suite.param)));
                         });

TEST(SubTensor, ExpertsAreStruckOutOfTheRanking) {
  Case large = case_of("tokens=20 experts=16 top_k=8 in=32 out=1 seed=9");
  Case small = large;
  small.experts = 12;
  const CaseData whole = data_of(large);
  const CaseData part = data_of(small);
  for (std::int64_t t = 0; t < 20; ++t) {
    std::int64_t next = 0;
    for (std::int64_t j = 0; j < 8; ++j) {
      const std::int64_t e = load_id(whole.selected_experts, t * 8 + j);
      if (e >= 12) continue;
      EXPECT_EQ(load_id(part.selected_experts, t * 8 + next++), e);
    }
  }
}

}  // namespace
}  // namespace moe4::oracle
