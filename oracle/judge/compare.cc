#include "oracle/judge/compare.h"

#include <algorithm>
#include <limits>

namespace moe4::oracle {
namespace {

constexpr std::size_t kWorst = 20;

bool worse(const Mismatch& a, const Mismatch& b) {
  if (a.ulps != b.ulps) return a.ulps > b.ulps;
  if (a.row != b.row) return a.row < b.row;
  return a.out < b.out;
}

// VER-12.
double ulps_outside(const Encodings& encodings, const OutputInterval& due, std::uint64_t got) {
  if (encodings.is_nan(got) || encodings.is_nan(due.exact)) return std::numeric_limits<double>::infinity();
  return std::min(encodings.distance(due.lo, got), encodings.distance(due.hi, got));
}

}  // namespace

bool is_counted(const OutputInterval& due, const CompareRules& rules) {
  return due.cls == OutputClass::kFinite || !rules.skip_nonfinite;  // VER-6
}

bool is_right(const Encodings& encodings, const OutputInterval& due, std::uint64_t got,
              const CompareRules& rules) {
  if (due.may_overflow && !encodings.is_finite(got)) return true;  // BND-12, BND-13
  if (due.cls == OutputClass::kNan) return encodings.is_nan(got);  // COR-4
  if (encodings.is_nan(got)) return false;
  return encodings.at_most(due.lo, got, rules.strict_zero) &&
         encodings.at_most(got, due.hi, rules.strict_zero);
}

Mismatch mismatch(const Encodings& encodings, const OutputInterval& due, std::uint64_t got,
                  std::int64_t index, std::int64_t out) {
  return {index / out, index % out, due.lo, due.hi, got, ulps_outside(encodings, due, got)};
}

void WorstMismatches::add(const Mismatch& mismatch) {
  kept_.push_back(mismatch);
  if (kept_.size() >= 64 * kWorst) cut();
}

std::vector<Mismatch> WorstMismatches::take() {
  cut();
  return std::move(kept_);
}

void WorstMismatches::cut() {
  std::sort(kept_.begin(), kept_.end(), worse);
  if (kept_.size() > kWorst) kept_.resize(kWorst);
}

Comparison compare(const Tensor& output, const Due& due, const CompareRules& rules) {
  const Encodings encodings(output.dtype());
  const std::int64_t out = due.out;
  Comparison result;
  WorstMismatches worst;
  for (std::int64_t index = 0; index < output.elements(); ++index) {
    if (!due.counts(index / out)) continue;  // VER-15
    const OutputInterval& y = due.outputs[static_cast<std::size_t>(index)];
    if (!is_counted(y, rules)) continue;
    const std::uint64_t got = encodings.load(output, index);
    const bool finite = encodings.is_finite(got);
    ++result.outputs;
    result.singletons += (y.lo == y.hi && !y.may_overflow) ? 1 : 0;
    result.telling += finite && !encodings.is_zero(got) && !encodings.is_largest(got) ? 1 : 0;
    if (finite && encodings.is_finite(y.exact)) {
      result.max_ulp = std::max(result.max_ulp, encodings.distance(y.exact, got));
    }
    if (is_right(encodings, y, got, rules)) continue;
    result.wrong.push_back(index);
    result.nan += encodings.is_nan(got) ? 1 : 0;
    result.inf += encodings.is_inf(got) ? 1 : 0;
    worst.add(mismatch(encodings, y, got, index, out));
  }
  result.worst = worst.take();
  return result;
}

}  // namespace moe4::oracle
