#include "oracle/diagnose/diagnose.h"

#include <algorithm>
#include <cmath>

#include "oracle/diagnose/places.h"
#include "oracle/judge/due.h"

namespace moe4::oracle {
namespace {

using Clock = std::chrono::steady_clock;

// Bits of evidence. A name is given from kLow on; two names that are less than kApart apart are given
// together; high confidence needs kHigh, and most of the wrong outputs.
constexpr double kLow = 0;
constexpr double kHigh = 16;
constexpr double kApart = 8;
constexpr double kMostOfThem = 0.95;
constexpr double kFewBeside = 0.02;  // of the wrong outputs, as many right ones
constexpr std::size_t kMostTogether = 4;

Result<Due> due_of(const CaseData& data, const Declaration& declaration) {
  const bool any_unit = declaration.profile.empty() || declaration.any_accumulation;
  Result<Due> due = any_unit ? interval_due_of_any_unit(data, declaration.arithmetic)
                             : interval_due(data, declaration.arithmetic);
  return due.ok() ? std::move(due) : bits_due(data);
}

class Search {
 public:
  Search(const CaseData& data, const Norm& norm, const WrongOutputs& wrong, Clock::time_point end)
      : data_(data), norm_(norm), wrong_(wrong), end_(end) {}

  bool over() const { return Clock::now() > end_; }

  // The best place of one fault; nothing if it has no place, or shows nothing.
  std::optional<FaultMatch> fit(const Fault& fault) {
    Scene scene(data_, norm_, Key::from_seed(0));
    std::optional<FaultMatch> best;
    const double cost =
        place_bits(fault.planting.place, scene) + std::log2(static_cast<double>(fault_catalogue().size()));
    for (const Candidate& place : candidates(fault, scene, wrong_)) {
      scene.note("");
      scene.force(place.site, place.pick);
      const Result<Planted> planted = plant_fault(fault, scene);
      if (!planted.ok() || !planted->visible) continue;
      const WrongOutputs::Score score = wrong_.score(planted->run);
      if (!best || score.bits - cost > best->bits) {
        best = FaultMatch{&fault,       planted->where, score.explained,
                          score.beside, score.perfect,  score.bits - cost};
      }
      if (score.perfect || over()) break;
    }
    return best;
  }

 private:
  const CaseData& data_;
  const Norm& norm_;
  const WrongOutputs& wrong_;
  Clock::time_point end_;
};

void rank(std::vector<FaultMatch>& matches) {
  std::erase_if(matches, [](const FaultMatch& m) { return m.bits < kLow && !m.perfect; });
  std::stable_sort(matches.begin(), matches.end(), [](const FaultMatch& a, const FaultMatch& b) {
    return a.perfect != b.perfect ? a.perfect : a.bits > b.bits;
  });
  if (matches.empty()) return;
  if (matches.front().perfect) std::erase_if(matches, [](const FaultMatch& m) { return !m.perfect; });
  const double best = matches.front().bits;
  std::erase_if(matches, [&](const FaultMatch& m) { return m.bits < best - kApart; });
}

Confidence confidence_of(const Diagnosis& diagnosis) {
  if (diagnosis.matches.empty()) return Confidence::kNone;
  const FaultMatch& best = diagnosis.matches.front();
  const auto wrong = static_cast<double>(diagnosis.wrong);
  const bool most = static_cast<double>(best.explained) >= kMostOfThem * wrong &&
                    static_cast<double>(best.beside) <= kFewBeside * wrong;
  const bool few = diagnosis.matches.size() <= kMostTogether;
  return best.bits >= kHigh && most && few && diagnosis.complete ? Confidence::kHigh : Confidence::kLow;
}

}  // namespace

bool Diagnosis::names(std::string_view fault) const {
  return std::any_of(matches.begin(), matches.end(),
                     [&](const FaultMatch& m) { return m.fault->name == fault; });
}

Result<Diagnosis> diagnose(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
                           const DiagnoseOptions& options) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(options.time);
  const Result<Norm> norm = fast_norm_result(data);
  if (!norm.ok()) return norm.error();
  Result<Due> due = due_of(data, declaration);
  if (!due.ok()) return due.error();
  CompareRules rules;
  rules.strict_zero = data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict;
  rules.skip_nonfinite = !declaration.nonfinite_ieee;
  const WrongOutputs wrong(data, *norm, run, std::move(*due), rules);

  Diagnosis diagnosis;
  diagnosis.wrong = static_cast<std::int64_t>(wrong.wrong().size());
  if (!wrong.any()) return diagnosis;
  Search search(data, *norm, wrong, end);
  for (const Fault& fault : options.catalogue != nullptr ? *options.catalogue : fault_catalogue()) {
    if (!applies(fault, data) || !fault.declared.empty()) continue;
    if (search.over()) {
      diagnosis.complete = false;
      break;
    }
    ++diagnosis.tried;
    if (std::optional<FaultMatch> match = search.fit(fault)) diagnosis.matches.push_back(std::move(*match));
  }
  rank(diagnosis.matches);
  diagnosis.confidence = confidence_of(diagnosis);
  return diagnosis;
}

}  // namespace moe4::oracle
