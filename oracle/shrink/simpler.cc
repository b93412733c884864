#include "oracle/shrink/simpler.h"

#include <rapidcheck/shrink/Shrink.h>

#include <algorithm>

namespace moe4::oracle {
namespace {

class Steps {
 public:
  explicit Steps(const Case& from) : from_(from) {}

  // Numbers between `to` and the value itself, from the far end.
  void number(std::int64_t Case::*member, std::int64_t to, std::int64_t unit = 1) {
    if (from_.*member / unit <= to) return;
    auto values = rc::shrink::towards<std::int64_t>(from_.*member / unit, to);
    for (auto value = values.next(); value; value = values.next()) {
      Case c = from_;
      c.*member = *value * unit;
      offer(std::move(c));
    }
  }

  // Every word that stands before the present one in `words`.
  template <class Word>
  void word(Word Case::*member, const std::vector<Word>& words) {
    for (const Word w : words) {
      if (w == from_.*member) return;
      Case c = from_;
      c.*member = w;
      offer(std::move(c));
    }
  }

  template <class Value>
  void value(Value Case::*member, const Value& simple) {
    if (from_.*member == simple) return;
    Case c = from_;
    c.*member = simple;
    offer(std::move(c));
  }

  std::vector<Case> take() { return std::move(cases_); }

 private:
  void offer(Case c) {
    // The keep lists of a smaller shape stay inside it.
    const auto cut = [](std::vector<std::int64_t>& list, std::int64_t limit) {
      list.erase(std::lower_bound(list.begin(), list.end(), limit), list.end());
    };
    cut(c.keep_tokens, c.tokens);
    cut(c.keep_outputs, c.out);
    cut(c.keep_groups, c.in / 32);
    cut(c.keep_codes, c.in);
    cut(c.route, c.experts);
    // A list that became empty would mean "everything".
    const bool emptied = c.keep_tokens.empty() != from_.keep_tokens.empty() ||
                         c.keep_outputs.empty() != from_.keep_outputs.empty() ||
                         c.keep_groups.empty() != from_.keep_groups.empty() ||
                         c.keep_codes.empty() != from_.keep_codes.empty();
    if (!emptied && !validate_case(c)) cases_.push_back(std::move(c));
  }

  const Case& from_;
  std::vector<Case> cases_;
};

}  // namespace

std::vector<Case> simpler_cases(const Case& c) {
  Steps steps(c);
  steps.number(&Case::tokens, 1);
  steps.number(&Case::out, 1);
  steps.number(&Case::in, 1, 32);
  steps.number(&Case::top_k, 1);
  if (c.route.empty()) {
    steps.number(&Case::experts, 1);
  } else {
    steps.value(&Case::route, {});
  }
  steps.word(&Case::fill, all_fills());
  steps.word(&Case::routing, all_routings());
  steps.word(&Case::op, all_ops());
  steps.value(&Case::weights, WeightFormat::kMxfp4);
  steps.value(&Case::layout, {});
  steps.value(&Case::ep, {});
  steps.value(&Case::block_m, {});
  steps.value(&Case::max_m, {});
  steps.value(&Case::expected_m, {});
  steps.value(&Case::capacity, {});
  steps.value(&Case::scales, {});
  steps.value(&Case::mixture, {});
  steps.value(&Case::shared, {});
  steps.value(&Case::ids_dtype, Dtype::kI32);
  steps.value(&Case::policy, {});
  steps.value(&Case::hardware, {});
  steps.value(&Case::schedule, {});
  steps.value(&Case::seed, std::uint64_t{1});
  return steps.take();
}

}  // namespace moe4::oracle
