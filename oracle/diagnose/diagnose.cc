#include "oracle/diagnose/diagnose.h"

#include <algorithm>
#include <cmath>

#include "oracle/case/output_rows.h"
#include "oracle/diagnose/places.h"
#include "oracle/judge/due.h"
#include "oracle/judge/requirement.h"

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

class Search {
 public:
  // healthy: the norm, or what an arithmetic gives that is promised to the bit (VER-17).
  Search(const CaseData& data, const Norm& healthy, const Arithmetic* promised, const WrongOutputs& wrong,
         Clock::time_point end)
      : data_(data), healthy_(healthy), promised_(promised), wrong_(wrong), end_(end) {}

  // Every fault that could show in the case.
  Diagnosis run(const std::vector<Fault>& catalogue) {
    Diagnosis diagnosis;
    diagnosis.wrong = static_cast<std::int64_t>(wrong_.wrong().size());
    for (const Fault& fault : catalogue) {
      const bool other_kind = fault.bits_declared && promised_ == nullptr;
      if (!applies(fault, data_.op, data_.weights) || other_kind) continue;
      if (over()) {
        diagnosis.complete = false;
        break;
      }
      ++diagnosis.tried;
      if (std::optional<FaultMatch> match = fit(fault)) diagnosis.matches.push_back(std::move(*match));
    }
    rank(diagnosis.matches);
    diagnosis.confidence = confidence_of(diagnosis);
    return diagnosis;
  }

 private:
  bool over() const { return Clock::now() > end_; }

  // The best place of one fault; nothing if it has no place, or shows nothing.
  std::optional<FaultMatch> fit(const Fault& fault) {
    Scene scene(data_, healthy_, Key::from_seed(0));
    if (promised_ != nullptr) scene.declare(*promised_);
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

  const CaseData& data_;
  const Norm& healthy_;
  const Arithmetic* promised_;
  const WrongOutputs& wrong_;
  Clock::time_point end_;
};

// VER-17: the intervals of the compared outputs become the bits that are promised.
Due promised_due(Due due, const DeclaredBits& bits) {
  for (std::size_t k = 0; k < bits.index.size(); ++k) {
    OutputInterval& y = due.outputs[static_cast<std::size_t>(bits.index[k])];
    y.exact = y.lo = y.hi = bits.bits[k];
  }
  return due;
}

// All outputs lie inside their intervals: what is wrong of them is a matter of bits, those of the norm on an
// exact fill, or those that are promised.
Diagnosis diagnose_inside(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
                          const Norm& norm, const std::vector<Fault>& catalogue, Clock::time_point end) {
  const Requirement asked = requirement_of(data, declaration);
  if (asked.refused || asked.unjudged) return {};
  if (!asked.bits) {
    const WrongOutputs wrong(data, norm, run, asked.due, asked.rules);
    return wrong.any() ? Search(data, norm, nullptr, wrong, end).run(catalogue) : Diagnosis{};
  }
  const Arithmetic promised = data.line ? arithmetic_on(declaration, *data.line) : declaration.arithmetic;
  const bool small = is_small(data, output_rows(data));
  std::optional<Result<Norm>> planted_in;
  if (small) planted_in = declared_result(data, promised);
  const Norm& healthy = planted_in && planted_in->ok() ? planted_in->value() : norm;
  const WrongOutputs wrong(data, healthy, run, promised_due(asked.due, *asked.bits), asked.rules);
  if (!wrong.any()) return {};
  Diagnosis diagnosis;
  diagnosis.wrong = static_cast<std::int64_t>(wrong.wrong().size());
  if (small) diagnosis = Search(data, healthy, &promised, wrong, end).run(catalogue);
  diagnosis.followed = followed_arithmetics(data, promised, run.output, *asked.bits, wrong.wrong());
  return diagnosis;
}

}  // namespace

bool Diagnosis::names(std::string_view fault) const {
  return std::any_of(matches.begin(), matches.end(),
                     [&](const FaultMatch& m) { return m.fault->name == fault; });
}

Result<Diagnosis> diagnose(const CaseData& data, const Declaration& declaration, const SubjectRun& run,
                           const DiagnoseOptions& options) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(options.time);
  const std::vector<Fault>& catalogue = options.catalogue != nullptr ? *options.catalogue : fault_catalogue();
  const Result<Norm> norm = fast_norm_result(data);
  if (!norm.ok()) return norm.error();
  Result<Due> due = due_of(data, declaration);
  if (!due.ok()) return due.error();
  CompareRules rules;
  rules.strict_zero = data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict;
  rules.skip_nonfinite = !declaration.nonfinite_ieee;
  const WrongOutputs wrong(data, *norm, run, std::move(*due), rules);
  if (wrong.any()) return Search(data, *norm, nullptr, wrong, end).run(catalogue);
  return diagnose_inside(data, declaration, run, *norm, catalogue, end);
}

}  // namespace moe4::oracle
