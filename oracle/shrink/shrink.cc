#include "oracle/shrink/shrink.h"

#include <rapidcheck/Seq.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/shrinkable/Create.h>

#include <algorithm>
#include <numeric>

#include "oracle/shrink/narrow.h"
#include "oracle/shrink/simpler.h"

namespace moe4::oracle {
namespace {

using Indices = std::vector<std::int64_t>;
using Clock = std::chrono::steady_clock;

class Search {
 public:
  Search(const std::function<bool(const Case&)>& fails, const ShrinkLimits& limits)
      : fails_(fails), limits_(limits), start_(Clock::now()) {}

  bool fails(const Case& c) {
    if (over()) return false;
    ++runs_;
    return fails_(c);
  }

  bool over() const { return runs_ >= limits_.runs || Clock::now() - start_ > limits_.time; }
  std::int64_t runs() const { return runs_; }

 private:
  const std::function<bool(const Case&)>& fails_;
  ShrinkLimits limits_;
  Clock::time_point start_;
  std::int64_t runs_ = 0;
};

// The first simpler line that fails, then the first simpler one than that, until none fails.
Case simplify(const Case& start, Search& search) {
  const auto shrinks = [](const Case& c) { return rc::seq::fromContainer(simpler_cases(c)); };
  rc::Shrinkable<Case> at = rc::shrinkable::shrinkRecur(Case(start), shrinks);
  while (true) {
    bool found = false;
    auto candidates = at.shrinks();
    for (auto candidate = candidates.next(); candidate && !found; candidate = candidates.next()) {
      if (!search.fails(candidate->value())) continue;
      at = *candidate;
      found = true;
    }
    if (!found) return at.value();
  }
}

Indices all_below(std::int64_t count) {
  Indices indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  return indices;
}

// Narrows one keep list. `all` is what an empty list stands for.
void narrow_support(Case& line, Indices Case::*member, const Indices& all, Search& search) {
  if (all.size() < 2) return;
  const auto with = [&](const Indices& kept) {
    Case c = line;
    c.*member = kept.size() == all.size() ? Indices{} : kept;
    return c;
  };
  const Indices start = (line.*member).empty() ? all : line.*member;
  line = with(narrow(start, [&](const Indices& kept) { return search.fails(with(kept)); }));
}

// The indices within the kept groups.
Indices codes_of(const Case& line) {
  Indices codes;
  for (const std::int64_t group : line.keep_groups.empty() ? all_below(line.in / 32) : line.keep_groups) {
    for (std::int64_t i = 0; i < 32; ++i) codes.push_back(32 * group + i);
  }
  return codes;
}

// Codes within one group are narrowed too finely for a list of thousands: groups come first.
Case narrow_all(Case line, Search& search) {
  narrow_support(line, &Case::keep_tokens, all_below(line.tokens), search);
  narrow_support(line, &Case::keep_outputs, all_below(line.out), search);
  narrow_support(line, &Case::keep_groups, all_below(line.in / 32), search);
  const Indices codes = codes_of(line);
  const Indices kept = line.keep_codes.empty() ? codes : line.keep_codes;
  const auto with = [&](const Indices& subset) {
    Case c = line;
    c.keep_codes = subset;
    return c;
  };
  const Indices fewer = narrow(kept, [&](const Indices& subset) { return search.fails(with(subset)); });
  if (fewer.size() < codes.size()) {
    line.keep_codes = fewer;
    Case without_groups = line;
    without_groups.keep_groups.clear();
    if (!line.keep_groups.empty() && search.fails(without_groups)) line = without_groups;
  }
  return line;
}

// Nothing beyond the last kept index is needed: data does not depend on the size of its tensor (DATA rules).
Case cut_shape(Case line, Search& search) {
  const auto try_case = [&](Case c) {
    const auto drop_if_full = [](Indices& list, std::int64_t size) {
      if (static_cast<std::int64_t>(list.size()) == size) list.clear();
    };
    drop_if_full(c.keep_tokens, c.tokens);
    drop_if_full(c.keep_outputs, c.out);
    drop_if_full(c.keep_groups, c.in / 32);
    drop_if_full(c.keep_codes, c.in);
    if (!(c == line) && !validate_case(c) && search.fails(c)) line = std::move(c);
  };
  if (!line.keep_tokens.empty()) {
    Case c = line;
    c.tokens = line.keep_tokens.back() + 1;
    try_case(std::move(c));
  }
  if (!line.keep_outputs.empty()) {
    Case c = line;
    c.out = line.keep_outputs.back() + 1;
    try_case(std::move(c));
  }
  const std::int64_t groups = !line.keep_codes.empty()    ? line.keep_codes.back() / 32 + 1
                              : !line.keep_groups.empty() ? line.keep_groups.back() + 1
                                                          : line.in / 32;
  Case c = line;
  c.in = 32 * groups;
  try_case(std::move(c));
  return line;
}

}  // namespace

Shrunk shrink_case(const Case& start, const std::function<bool(const Case&)>& fails,
                   const ShrinkLimits& limits) {
  Search search(fails, limits);
  Case line = simplify(start, search);
  // A narrower support may allow a simpler line, and the other way round.
  for (Case before; !(before == line) && !search.over();) {
    before = line;
    line = cut_shape(narrow_all(line, search), search);
    line = simplify(line, search);
  }
  return {std::move(line), search.runs(), !search.over()};
}

}  // namespace moe4::oracle
