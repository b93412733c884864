#include "oracle/gate/pairwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "oracle/case/counted.h"
#include "oracle/gate/factors.h"

namespace moe4::oracle {
namespace {

constexpr std::uint64_t kFirstSeed = 0xC0;  // of a family's cases

// Two factors and a value of each; the first factor is the smaller one.
struct Pair {
  int factor_a, value_a, factor_b, value_b;
  auto operator<=>(const Pair&) const = default;
};

using Choice = Family::Choice;

template <class Each>
void for_each_pair_of(const Choice& choice, const Each& each) {
  for (int a = 0; a < kFactors; ++a) {
    for (int b = a + 1; b < kFactors; ++b) {
      if (choice[a] >= 0 && choice[b] >= 0) each(Pair{a, choice[a], b, choice[b]});
    }
  }
}

struct Pairs {
  std::set<Pair> possible;
  std::map<std::string, std::int64_t> excluded;
};

// With which subjects' usual values the pair makes a case; or the first subject's reason why not.
std::vector<Choice> cases_with(const Family& family, const Pair& pair, std::string* reason) {
  std::vector<Choice> found;
  const int subjects = static_cast<int>(family.values(kSubject).size());
  for (int s = 0; s < subjects; ++s) {
    if (pair.factor_a == kSubject && pair.value_a != s) continue;
    Choice choice = family.usual(s);
    choice[pair.factor_a] = pair.value_a;
    choice[pair.factor_b] = pair.value_b;
    std::optional<std::string> refused = family.refuses(choice);
    if (!refused) {
      found.push_back(std::move(choice));
    } else if (reason->empty()) {
      *reason = std::move(*refused);
    }
  }
  return found;
}

Pairs pairs_of(const Family& family) {
  Pairs pairs;
  for (int a = 0; a < kFactors; ++a) {
    for (int b = a + 1; b < kFactors; ++b) {
      for (int va = 0; va < static_cast<int>(family.values(a).size()); ++va) {
        for (int vb = 0; vb < static_cast<int>(family.values(b).size()); ++vb) {
          const Pair pair{a, va, b, vb};
          std::string reason;
          if (!cases_with(family, pair, &reason).empty()) {
            pairs.possible.insert(pair);
          } else {
            ++pairs.excluded[reason];
          }
        }
      }
    }
  }
  return pairs;
}

// Makes cases until every pair has met: each begins with the first pair that has not, and takes for every
// other factor the value with which most of the missing pairs meet.
class CoverMaker {
 public:
  CoverMaker(const Family& family, std::set<Pair> missing) : family_(family), missing_(std::move(missing)) {}

  std::vector<Choice> make() {
    std::vector<Choice> choices;
    while (!missing_.empty()) {
      Choice choice = complete(*missing_.begin());
      for_each_pair_of(choice, [&](const Pair& pair) { missing_.erase(pair); });
      choices.push_back(std::move(choice));
    }
    return choices;
  }

 private:
  // Missing pairs that the value of factor f makes with those that stand.
  std::int64_t gain(const Choice& choice, const std::array<bool, kFactors>& stands, int f, int value) const {
    std::int64_t count = 0;
    for (int g = 0; g < kFactors; ++g) {
      if (g == f || !stands[static_cast<std::size_t>(g)]) continue;
      const Pair pair = f < g ? Pair{f, value, g, choice[g]} : Pair{g, choice[g], f, value};
      count += missing_.contains(pair) ? 1 : 0;
    }
    return count;
  }

  std::int64_t missing_with(int subject) const {
    return std::count_if(missing_.begin(), missing_.end(), [&](const Pair& pair) {
      return pair.factor_a == kSubject && pair.value_a == subject;
    });
  }

  Choice complete(const Pair& pair) const {
    std::string reason;
    std::vector<Choice> starts = cases_with(family_, pair, &reason);
    Choice choice = *std::max_element(starts.begin(), starts.end(), [&](const Choice& a, const Choice& b) {
      return missing_with(a[kSubject]) < missing_with(b[kSubject]);
    });
    std::array<bool, kFactors> stands{};
    stands[kSubject] = true;
    stands[static_cast<std::size_t>(pair.factor_a)] = stands[static_cast<std::size_t>(pair.factor_b)] = true;
    for (int f = 0; f < kFactors; ++f) {
      if (stands[static_cast<std::size_t>(f)]) continue;
      choice[f] = best_value(choice, stands, f);
      stands[static_cast<std::size_t>(f)] = true;
    }
    return choice;
  }

  // The value that the choice has already makes a case.
  int best_value(Choice choice, const std::array<bool, kFactors>& stands, int f) const {
    int best = choice[f];
    std::int64_t most = gain(choice, stands, f, best);
    for (int value = 0; value < static_cast<int>(family_.values(f).size()); ++value) {
      const std::int64_t count = gain(choice, stands, f, value);
      if (count <= most) continue;
      choice[f] = value;
      if (family_.refuses(choice)) continue;
      best = value;
      most = count;
    }
    return best;
  }

  const Family& family_;
  std::set<Pair> missing_;
};

std::string text_of(const Family& family, const Pair& pair) {
  return family.value_text(pair.factor_a, pair.value_a) + " with " +
         family.value_text(pair.factor_b, pair.value_b);
}

}  // namespace

std::vector<PairwiseCover> pairwise_covers(const std::vector<const Declaration*>& declarations) {
  std::vector<PairwiseCover> covers;
  for (const Family& family : families_of(declarations)) {
    Pairs pairs = pairs_of(family);
    PairwiseCover cover;
    cover.family = family.name();
    cover.subjects = static_cast<std::int64_t>(family.values(kSubject).size());
    cover.possible = static_cast<std::int64_t>(pairs.possible.size());
    cover.excluded = std::move(pairs.excluded);
    for (const Choice& choice : CoverMaker(family, std::move(pairs.possible)).make()) {
      cover.cases.push_back(
          {family.subject(choice[kSubject]).name, family.case_of(choice, kFirstSeed + cover.cases.size())});
    }
    covers.push_back(std::move(cover));
  }
  return covers;
}

std::vector<PairsJudged> pairs_judged(const std::vector<const Declaration*>& declarations,
                                      const std::vector<std::span<const CaseResult>>& results) {
  constexpr std::size_t kNamed = 10;
  std::vector<PairsJudged> all;
  for (const Family& family : families_of(declarations)) {
    const Pairs pairs = pairs_of(family);
    std::set<Pair> judged;
    for (std::size_t d = 0; d < declarations.size(); ++d) {
      const auto& names = family.values(kSubject);
      const auto at = std::find(names.begin(), names.end(), declarations[d]->name);
      if (at == names.end()) continue;
      for (const CaseResult& result : results[d]) {
        const VerdictStatus status = result.verdict.status;
        if (status != VerdictStatus::kPassed && status != VerdictStatus::kFailed) continue;
        const Choice choice = family.choice_of(static_cast<int>(at - names.begin()), result.line);
        for_each_pair_of(choice, [&](const Pair& pair) { judged.insert(pair); });
      }
    }
    PairsJudged seen;
    seen.family = family.name();
    seen.subjects = static_cast<std::int64_t>(family.values(kSubject).size());
    seen.possible = static_cast<std::int64_t>(pairs.possible.size());
    for (const Pair& pair : pairs.possible) {
      if (judged.contains(pair)) {
        ++seen.judged;
      } else if (seen.lost.size() < kNamed) {
        seen.lost.push_back(text_of(family, pair));
      }
    }
    all.push_back(std::move(seen));
  }
  return all;
}

std::string to_string(const PairsJudged& pairs) {
  return fmt::format("{}: {} of {} pairs judged ({})", pairs.family, pairs.judged, pairs.possible,
                     counted(pairs.subjects, "subject"));
}

}  // namespace moe4::oracle
