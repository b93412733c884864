#include "oracle/diagnose/mismatch.h"

#include <algorithm>
#include <cmath>

namespace moe4::oracle {
namespace {

// Bits of evidence. Against chance an output that is wrong has been given one of about 2^8 values; a fault
// that is there gives each output with a probability of about 31 in 32.
constexpr double kMissed = -5;
constexpr double kBeside = -13;
constexpr double kFlags = 9;
constexpr double kWrongFlags = -50;

}  // namespace

WrongOutputs::WrongOutputs(const CaseData& data, const Norm& norm, const SubjectRun& run, Due due,
                           const CompareRules& rules)
    : data_(data),
      norm_(norm),
      run_(run),
      due_(std::move(due)),
      rules_(rules),
      encodings_(run.output.dtype()) {
  const auto add = [&](std::int64_t index, double gain) {
    wrong_.push_back(index);
    gain_.push_back(gain);
    rows_.insert(index / due_.out);
    columns_.insert(index % due_.out);
  };
  for (std::int64_t k = 0; k < run.output.elements(); ++k) {
    if (!due_.counts(k / due_.out)) continue;
    const OutputInterval& y = due_.outputs[static_cast<std::size_t>(k)];
    if (!is_counted(y, rules_)) continue;
    const std::uint64_t got = encodings_.load(run.output, k);
    if (!run.unwritten.empty() && run.unwritten[static_cast<std::size_t>(k)]) {
      add(k, 4);
    } else if (!is_right(encodings_, y, got, rules_)) {
      const bool finite = encodings_.is_finite(got) && encodings_.is_finite(y.exact);
      const double ulps = finite ? std::min(encodings_.distance(y.exact, got), 128.0) : 1;
      add(k, 1 + std::log2(1 + 2 * ulps));
    }
  }
  flagged_ = !run.inputs_unchanged;
  for (std::size_t row = 0; row < run.written.size() && row < norm.written.size(); ++row) {
    if (run.written[row] == norm.written[row]) continue;
    flagged_ = true;
    rows_.insert(static_cast<std::int64_t>(row));
  }
}

WrongOutputs::Step WrongOutputs::step(std::int64_t index) const {
  const OutputInterval& y = due_.outputs[static_cast<std::size_t>(index)];
  const std::uint64_t got = encodings_.load(run_.output, index);
  const double slack = encodings_.is_finite(got) && encodings_.is_finite(y.exact)
                           ? encodings_.ulp(got) + encodings_.ulp(y.exact) +
                                 std::abs(encodings_.number(y.hi) - encodings_.number(y.lo))
                           : HUGE_VAL;
  return {encodings_.number(got) - encodings_.number(y.exact), slack};
}

bool WrongOutputs::same(std::int64_t index, std::uint64_t planted) const {
  const std::uint64_t got = encodings_.load(run_.output, index);
  if (planted == got || (encodings_.is_nan(planted) && encodings_.is_nan(got))) return true;
  if (encodings_.is_zero(planted) && encodings_.is_zero(got)) return !rules_.strict_zero;
  if (!encodings_.is_finite(planted) || !encodings_.is_finite(got)) return false;
  // What a healthy kernel may add to the norm's bits, a faulty one may add to its own.
  const OutputInterval& y = due_.outputs[static_cast<std::size_t>(index)];
  if (!encodings_.is_finite(y.lo) || !encodings_.is_finite(y.hi)) return false;
  return encodings_.distance(planted, got) <= encodings_.distance(y.lo, y.hi);
}

bool WrongOutputs::flags_match(const SubjectRun& planted) const {
  if (planted.inputs_unchanged != run_.inputs_unchanged) return false;
  return run_.written.empty() || planted.written.empty() || planted.written == run_.written;
}

WrongOutputs::Score WrongOutputs::score(const SubjectRun& planted) const {
  Score score;
  if (!flags_match(planted)) {
    score.bits = kWrongFlags;
    return score;
  }
  score.bits = flagged_ ? kFlags : 0;
  std::size_t next = 0;
  for (std::int64_t k = 0; k < planted.output.elements(); ++k) {
    if (!due_.counts(k / due_.out)) continue;
    const std::uint64_t bits = encodings_.load(planted.output, k);
    const bool told = !planted.unwritten.empty() && planted.unwritten[static_cast<std::size_t>(k)];
    if (next < wrong_.size() && wrong_[next] == k) {
      // Memory that was not written is zero in a faulty run, and anything in a real one.
      const bool unwritten = !run_.unwritten.empty() && run_.unwritten[static_cast<std::size_t>(k)];
      const bool given = unwritten
                             ? told || (bits == 0 && !encodings_.is_zero(encodings_.load(norm_.output, k)))
                             : same(k, bits);
      score.explained += given ? 1 : 0;
      score.bits += given ? gain_[next] : kMissed;
      ++next;
    } else if (told || (is_counted(due_.outputs[static_cast<std::size_t>(k)], rules_) && !same(k, bits))) {
      ++score.beside;
      score.bits += kBeside;
    }
  }
  score.perfect = score.beside == 0 && score.explained == static_cast<std::int64_t>(wrong_.size());
  return score;
}

}  // namespace moe4::oracle
