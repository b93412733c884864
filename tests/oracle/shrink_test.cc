// Shrinking finds the planted spot, keeps the kind of failure, and ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "oracle/shrink/narrow.h"
#include "oracle/shrink/shrink.h"
#include "oracle/shrink/simpler.h"

namespace moe4::oracle {
namespace {

using Indices = std::vector<std::int64_t>;

bool holds(const Indices& set, std::int64_t index) {
  return std::binary_search(set.begin(), set.end(), index);
}

Indices up_to(std::int64_t count) {
  Indices all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

TEST(Narrow, FindsTheOneOrTheFew) {
  for (const Indices& culprits : {Indices{0}, Indices{99}, Indices{41}, Indices{3, 4}, Indices{0, 50, 99}}) {
    int asked = 0;
    const Indices found = narrow(up_to(100), [&](const Indices& kept) {
      ++asked;
      EXPECT_FALSE(kept.empty());
      return std::all_of(culprits.begin(), culprits.end(), [&](std::int64_t c) { return holds(kept, c); });
    });
    EXPECT_EQ(found, culprits);
    EXPECT_LT(asked, 200);
  }
}

TEST(Narrow, KeepsWhatItHasWhenAskedNoMore) {
  EXPECT_EQ(narrow(up_to(9), [](const Indices&) { return false; }), up_to(9));
}

TEST(Narrow, MinimalForAnyPredicateThatIsNotMonotone) {
  // Fails for every set of even size that holds 7, and for {7} alone not.
  const auto fails = [](const Indices& kept) { return kept.size() % 2 == 0 && holds(kept, 7); };
  const Indices found = narrow(up_to(16), fails);
  ASSERT_TRUE(fails(found));
  for (std::size_t n = 0; n < found.size(); ++n) {
    Indices fewer = found;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(!fewer.empty() && fails(fewer));
  }
}

Case large() {
  Result<Case> c = parse_case(
      "op=expert_linear weights=mxfp4 tokens=9 experts=12 top_k=3 in=640 out=70 dtype=bf16 fill=bits "
      "routing=duplicate "
      "scales=window(100,140) seed=0x1234 schedule=0x5");
  EXPECT_TRUE(c.ok());
  return *c;
}

TEST(Simpler, EveryStepIsValidAndEveryChainEnds) {
  Case at = large();
  int steps = 0;
  for (std::vector<Case> next = simpler_cases(at); !next.empty(); next = simpler_cases(at)) {
    for (const Case& c : next) {
      EXPECT_FALSE(validate_case(c)) << to_string(c);
      EXPECT_FALSE(c == at);
    }
    at = next.back();  // the most timid step
    ASSERT_LT(++steps, 1000);
  }
  EXPECT_EQ(to_string(at), to_string(Case{})) << "the simplest case of all";
}

// The fault shows where token 5, output 40 and element 300 are all kept.
bool shows(const Case& c) {
  const auto kept = [](const Indices& list, std::int64_t index, std::int64_t size) {
    return index < size && (list.empty() || holds(list, index));
  };
  return kept(c.keep_tokens, 5, c.tokens) && kept(c.keep_outputs, 40, c.out) &&
         kept(c.keep_groups, 300 / 32, c.in / 32) && kept(c.keep_codes, 300, c.in);
}

TEST(Shrink, FindsThePlantedPlace) {
  const Shrunk shrunk = shrink_case(large(), shows);
  EXPECT_TRUE(shrunk.complete);
  EXPECT_LT(shrunk.runs, 500);
  ASSERT_TRUE(shows(shrunk.line));
  EXPECT_EQ(shrunk.line.tokens, 6);
  EXPECT_EQ(shrunk.line.out, 41);
  EXPECT_EQ(shrunk.line.in, 320);
  EXPECT_EQ(shrunk.line.experts, 1);
  EXPECT_EQ(shrunk.line.top_k, 1);
  EXPECT_EQ(shrunk.line.keep_tokens, Indices{5});
  EXPECT_EQ(shrunk.line.keep_outputs, Indices{40});
  EXPECT_EQ(shrunk.line.keep_codes, Indices{300});
  EXPECT_TRUE(shrunk.line.keep_groups.empty()) << "the codes say it all";
  EXPECT_EQ(shrunk.line.fill, Fill::kExact8);
  EXPECT_EQ(shrunk.line.routing, Routing::kUniform);
  EXPECT_FALSE(shrunk.line.scales || shrunk.line.schedule);
  EXPECT_EQ(shrunk.line.seed, 1u);
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const auto fails = [](const Case& c) {
    return shows(c) && c.fill == Fill::kBits && c.top_k >= 2 && c.schedule;
  };
  const Case line = shrink_case(large(), fails).line;
  EXPECT_EQ(line.fill, Fill::kBits);
  EXPECT_EQ(line.top_k, 2);
  EXPECT_TRUE(line.schedule.has_value());
  EXPECT_EQ(line.keep_codes, Indices{300});
}

TEST(Shrink, EndsAtItsLimit) {
  ShrinkLimits limits;
  limits.runs = 10;
  const Shrunk shrunk = shrink_case(large(), shows, limits);
  EXPECT_EQ(shrunk.runs, 10);
  EXPECT_FALSE(shrunk.complete);
  EXPECT_TRUE(shows(shrunk.line));
}

TEST(Shrink, OfAMinimalLineIsItself) {
  const Case line = shrink_case(large(), shows).line;
  EXPECT_EQ(shrink_case(line, shows).line, line);
}

}  // namespace
}  // namespace moe4::oracle
