#include "oracle/diagnose/first_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "oracle/case/output_rows.h"
#include "oracle/generate/store.h"
#include "oracle/judge/requirement.h"

namespace moe4::oracle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kParts = 16;  // of what is left, tried in turn
constexpr double kRuns = 50;         // as many as it takes, about
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

// The same case with tokens that are zero from column `count` on.
CaseData first_columns(const CaseData& data, std::int64_t count) {
  CaseData seen = data;
  Tensor& tokens = seen.latent_tokens;
  const auto width = size_of(tokens.dtype());
  const auto in = static_cast<std::size_t>(in_of(data));
  const auto kept = static_cast<std::size_t>(count);
  const std::size_t rows = in == 0 ? 0 : tokens.bytes() / (in * width);
  for (std::size_t row = 0; row < rows; ++row) {
    std::memset(tokens.data() + (row * in + kept) * width, 0, (in - kept) * width);
  }
  return seen;
}

// Slot j of every token with weight 1, the others with 0, and no shared output.
CaseData slot_alone(const CaseData& data, std::int64_t j) {
  CaseData seen = data;
  const ExactValue one = decode_float(kF32, std::bit_cast<std::uint32_t>(1.0F));
  std::memset(seen.mixture_weights.data(), 0, seen.mixture_weights.bytes());
  const std::int64_t slots = seen.mixture_weights.dim(1);
  for (std::int64_t n = j; n < seen.mixture_weights.elements(); n += slots)
    store_float(seen.mixture_weights, n, one);
  std::memset(seen.shared_output.data(), 0, seen.shared_output.bytes());
  return seen;
}

class Prefixes {
 public:
  Prefixes(Subject& subject, const CaseData& data, const Mismatch& at, Clock::time_point end)
      : subject_(subject), data_(&data), index_(at.row * output_shape(data).out + at.out), end_(end) {}

  // From now on of this case, which has the shape of the first.
  void look_at(const CaseData& data) { data_ = &data; }

  struct Seen {
    bool right = false;
    Mismatch mismatch;
  };

  // One a count. Nothing: a run did not end, nothing is due, or the time is up.
  std::optional<std::vector<Seen>> see(const std::vector<std::int64_t>& counts) {
    std::vector<Seen> all;
    const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(subject_.batch(), 1));
    for (std::size_t begin = 0; begin < counts.size(); begin += batch) {
      std::vector<CaseData> cases;
      for (std::size_t n = begin; n < std::min(counts.size(), begin + batch); ++n)
        cases.push_back(first_columns(*data_, counts[n]));
      std::vector<const CaseData*> pointers;
      for (const CaseData& one : cases) pointers.push_back(&one);
      if (pointers.size() > 1) subject_.prepare(pointers);
      for (const CaseData& one : cases) {
        const std::optional<Seen> seen = see_one(one);
        if (!seen) {
          subject_.prepare({});
          return std::nullopt;
        }
        all.push_back(*seen);
      }
      if (pointers.size() > 1) subject_.prepare({});
    }
    return all;
  }

  std::int64_t runs() const { return runs_; }

 private:
  std::optional<Seen> see_one(const CaseData& seen) {
    if (Clock::now() > end_) return std::nullopt;
    ++runs_;
    const SubjectRun run = subject_.run(seen);
    const OutputShape shape = output_shape(seen);
    const bool usable = run.outcome == SubjectRun::Outcome::kRan && run.output.dtype() == shape.dtype &&
                        run.output.elements() == shape.rows * shape.out;
    if (!usable) return std::nullopt;
    const Requirement asked = requirement_of(seen, subject_.declaration());
    if (asked.refused || asked.unjudged) return std::nullopt;
    OutputInterval due = asked.due.outputs[static_cast<std::size_t>(index_)];
    const Encodings encodings(shape.dtype);
    const std::uint64_t got = encodings.load(run.output, index_);
    if (is_right(encodings, due, got, asked.rules) && asked.bits) {
      const auto& compared = asked.bits->index;
      const auto found = std::lower_bound(compared.begin(), compared.end(), index_);
      if (found != compared.end() && *found == index_) {
        due.exact = due.lo = due.hi = asked.bits->bits[static_cast<std::size_t>(found - compared.begin())];
      }
    }
    return Seen{is_right(encodings, due, got, asked.rules), mismatch(encodings, due, got, index_, shape.out)};
  }

  Subject& subject_;
  const CaseData* data_;
  std::int64_t index_;
  Clock::time_point end_;
  std::int64_t runs_ = 0;
};

// below: as many columns are right; above: so many are wrong. Both come closer until they meet.
std::optional<FirstStep> narrow(Prefixes& prefixes, std::int64_t above, const Mismatch& whole) {
  FirstStep step;
  step.at = whole;
  std::int64_t below = 0;
  while (above - below > 1) {
    const std::int64_t width = (above - below + kParts - 1) / kParts;
    std::vector<std::int64_t> counts;
    for (std::int64_t n = below + width; n < above; n += width) counts.push_back(n);
    const auto seen = prefixes.see(counts);
    if (!seen) return std::nullopt;
    for (std::size_t n = 0; n < counts.size() && counts[n] < above; ++n) {
      if ((*seen)[n].right) {
        below = counts[n];
      } else {
        above = counts[n];
        step.at = (*seen)[n].mismatch;
      }
    }
  }
  step.in = below;
  step.runs = prefixes.runs();
  return step;
}

// The first slot of the row that is wrong where it stands alone.
std::optional<FirstStep> in_one_slot(Prefixes& prefixes, const CaseData& data, const Mismatch& at) {
  if (is_row_op(data.op)) return std::nullopt;
  for (const OutputRow& row : output_rows(data)) {
    if (row.row != at.row) continue;
    for (const Slot& slot : row.slots) {
      const CaseData alone = slot_alone(data, slot.j);
      prefixes.look_at(alone);
      const auto ends = prefixes.see({0, in_of(data)});
      if (!ends || !ends->front().right || ends->back().right) continue;
      std::optional<FirstStep> step = narrow(prefixes, in_of(data), ends->back().mismatch);
      if (step) step->slot = slot.j;
      return step;
    }
  }
  return std::nullopt;
}

std::string number_text(const Encodings& encodings, const Mismatch& m) {
  std::string due = encodings.text(m.expected_lo);
  if (m.expected_lo != m.expected_hi) due += " .. " + encodings.text(m.expected_hi);
  return fmt::format("expected {}, got {}", due, encodings.text(m.got));
}

}  // namespace

std::optional<FirstStep> first_step(Subject& subject, const CaseData& data, const Verdict& verdict,
                                    double seconds, std::chrono::duration<double> time) {
  const std::size_t bytes = data.packed_weights.bytes() + data.latent_tokens.bytes();
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(subject.batch(), 1));
  if (data.op == Op::kCombine || verdict.worst.empty() || in_of(data) == 0 || bytes * batch > kMostBytes)
    return std::nullopt;
  FirstStep step;
  step.at = verdict.worst.front();
  if (seconds * kRuns > time.count()) {
    step.kind = FirstStep::Kind::kSlow;
    return step;
  }
  Prefixes prefixes(subject, data, step.at, Clock::now() + std::chrono::duration_cast<Clock::duration>(time));
  const auto ends = prefixes.see({0, in_of(data)});
  if (!ends) return std::nullopt;
  step.runs = prefixes.runs();
  if (ends->back().right || !ends->front().right) {
    step.kind = ends->back().right ? FirstStep::Kind::kGone : FirstStep::Kind::kNoToken;
    return step;
  }
  if (std::optional<FirstStep> alone = in_one_slot(prefixes, data, step.at)) return alone;
  prefixes.look_at(data);
  return narrow(prefixes, in_of(data), ends->back().mismatch);
}

std::string first_step_text(const CaseData& data, const FirstStep& step) {
  const Encodings encodings(output_shape(data).dtype);
  const std::string where = fmt::format("[{},{}]", step.at.row, step.at.out);
  switch (step.kind) {
    case FirstStep::Kind::kColumn:
      return fmt::format(
          "  first step: i = {} (group {}): {}{} is as declared with the columns below it, and not with it "
          "({} runs "
          "with later tokens zero)\n    {}\n",
          step.in, step.in / kGroupSize, where,
          step.slot ? fmt::format(" of slot {} alone, weight 1,", *step.slot) : "", step.runs,
          number_text(encodings, step.at));
    case FirstStep::Kind::kNoToken:
      return fmt::format("  first step: none; {} is wrong with every token zero\n", where);
    case FirstStep::Kind::kGone:
      return fmt::format("  first step: none; {} was right when the case was run again\n", where);
    case FirstStep::Kind::kSlow:
      return "  first step: not sought, a run takes too long\n";
  }
  return "";
}

}  // namespace moe4::oracle
