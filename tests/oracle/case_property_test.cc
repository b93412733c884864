// parse_case and to_string are each other's inverse on every valid case.
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "oracle/case/words.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {
namespace {

template <class T>
T one_of(const std::vector<T>& values) {
  return values[*rc::gen::inRange<std::size_t>(0, values.size())];
}

std::vector<std::int64_t> some_of(std::int64_t limit) {
  if (limit == 0 || *rc::gen::inRange(0, 3) != 0) return {};
  const auto drawn = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, limit));
  const std::set<std::int64_t> sorted(drawn.begin(), drawn.end());
  return {sorted.begin(), sorted.end()};
}

Case any_case() {
  const std::vector<Dtype> floats = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  Case c;
  c.op = one_of(all_ops());
  c.weights = one_of<WeightFormat>({WeightFormat::kMxfp4, WeightFormat::kInt4});
  c.tokens = *rc::gen::inRange<std::int64_t>(0, 70);
  c.experts = *rc::gen::inRange<std::int64_t>(0, 40);
  c.top_k = *rc::gen::inRange<std::int64_t>(0, 9);
  c.in = 32 * *rc::gen::inRange<std::int64_t>(1, 96);
  c.out = *rc::gen::inRange<std::int64_t>(0, 300);
  // Mostly what the operation takes: a key too many is refused, which says little about printing.
  const bool odd = *rc::gen::inRange(0, 8) == 0;
  const bool mixing = odd || !is_row_op(c.op);
  const auto maybe = [odd](bool fits) { return (fits || odd) && *rc::gen::arbitrary<bool>(); };
  if (mixing) c.dtype = one_of(floats);
  if (maybe(mixing)) c.mixture = one_of(floats);
  if (maybe(mixing)) c.shared = one_of(floats);
  if (maybe(mixing)) c.ids_dtype = Dtype::kI64;
  const bool padding = c.op == Op::kIndexed || c.op == Op::kGroupedContiguous;
  if (maybe(padding)) c.block_m = *rc::gen::inRange<std::int64_t>(1, 300);
  if (maybe(padding)) c.capacity = *rc::gen::inRange<std::int64_t>(0, 3000);
  if (maybe(c.op == Op::kGroupedMasked)) c.max_m = *rc::gen::inRange<std::int64_t>(0, 300);
  if (maybe(c.op == Op::kGroupedMasked)) c.expected_m = *rc::gen::inRange<std::int64_t>(1, 300);
  if (*rc::gen::inRange(0, 4) == 0) {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 5);
    c.ep = ExpertRank{*rc::gen::inRange<std::int64_t>(0, ranks), ranks};
  }
  if (maybe(c.op != Op::kCombine)) {
    std::vector<std::string> layouts;
    for (const WeightLayout* layout : weight_layouts()) {
      if (odd || layout->weights == name_of(c.weights)) layouts.emplace_back(layout->name);
    }
    c.layout = one_of(layouts);
  }
  c.fill = one_of(all_fills());
  c.routing = one_of(all_routings());
  if (*rc::gen::inRange(0, 4) == 0) {
    const auto a = *rc::gen::arbitrary<std::uint8_t>();
    const auto b = *rc::gen::arbitrary<std::uint8_t>();
    c.scales = ScaleWindow{std::min(a, b), std::max(a, b)};
  }
  c.route = some_of(c.experts);
  c.policy.scale_nan = one_of<ScaleNan>({ScaleNan::kOcp, ScaleNan::kFormula, ScaleNan::kInf});
  c.policy.scale_zero = one_of<ScaleZero>({ScaleZero::kExact, ScaleZero::kFlush});
  c.policy.zero = one_of<ZeroCompare>({ZeroCompare::kAny, ZeroCompare::kStrict});
  if (maybe(c.op == Op::kExpertLinear)) c.policy.ids = Ids::kAbsent;
  if (maybe(mixing)) c.policy.skip_zero_p = SkipZeroP::kYes;
  c.seed = *rc::gen::arbitrary<std::uint64_t>();
  if (*rc::gen::arbitrary<bool>()) c.hardware = one_of(hardware_words());
  if (*rc::gen::arbitrary<bool>()) c.schedule = *rc::gen::arbitrary<std::uint64_t>();
  c.keep_tokens = some_of(c.tokens);
  c.keep_outputs = some_of(c.out);
  c.keep_groups = some_of(c.in / 32);
  c.keep_codes = some_of(c.in);
  return c;
}

TEST(CaseProperty, ParseInvertsPrint) {
  int valid = 0;
  std::set<std::pair<Op, WeightFormat>> ops;
  const auto holds_for = [&](const Case& c) {
    const Status refusal = validate_case(c);
    const Result<Case> parsed = parse_case(to_string(c));
    if (refusal) {
      RC_ASSERT(!parsed.ok());
      return;
    }
    ++valid;
    ops.insert({c.op, c.weights});
    RC_ASSERT(parsed.ok());
    RC_ASSERT(*parsed == c);
    RC_ASSERT(to_string(*parsed) == to_string(c));
  };
  // A property is run 100 times: with 20 cases a time, every operation in both formats has valid ones.
  EXPECT_TRUE(rc::check("parse(print(c)) == c, and the same refusal if c is not valid", [&] {
    for (int n = 0; n < 20; ++n) holds_for(any_case());
  }));
  EXPECT_GT(valid, 200) << "the generator draws hardly any valid case, so the property says little";
  EXPECT_EQ(ops.size(), 10u) << "valid cases of some operations and formats only";
}

TEST(CaseProperty, ParserNeverFailsOnText) {
  EXPECT_TRUE(rc::check("any text is a case or an error with a rule", [] {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("tokens=keep_scali(),0123456789-+ xf\t\n\0#", 42)));
    const Result<Case> c = parse_case(text);
    if (!c) RC_ASSERT(!c.error().rule.empty());
  }));
}

}  // namespace
}  // namespace moe4::oracle
