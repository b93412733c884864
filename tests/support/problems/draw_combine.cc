#include "tests/support/problems/draw_combine.h"

#include <algorithm>
#include <ostream>
#include <tuple>

#include "tests/support/problems/draw_bits.h"
#include "tests/support/problems/keep.h"
#include "tests/support/problems/stage_problem.h"

namespace problems {
namespace {

using namespace slow_model;

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }

FloatTensor draw_tensor(Draw& draw, std::int64_t count) {
  FloatTensor tensor;
  tensor.format = kFloatFormats[draw.below(4)];
  tensor.bits = draw_floats(draw, tensor.format, draw_float_mood(draw), count);
  return tensor;
}

// Slot 1 has the row of slot 0 and the opposite p.
void cancel_slots(Draw& draw, CombineProblem& problem) {
  if (problem.top_k < 2) return;
  FloatTensor& p = problem.mixture_weights;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    if (draw.one_in(4)) continue;
    const std::int64_t slot = t * problem.top_k;
    p.bits[index(slot + 1)] = p.bits[index(slot)] ^ p.format.sign_bit();
    std::copy_n(problem.rows.begin() + slot * problem.out, problem.out,
                problem.rows.begin() + (slot + 1) * problem.out);
  }
}

// As aim_shared of stage_problem.h.
void aim_shared(Draw& draw, CombineProblem& problem) {
  const FloatFormat& format = problem.shared_output.format;
  for (std::int64_t n = 0; n < problem.tokens * problem.out; ++n) {
    std::uint64_t& s = problem.shared_output.bits[index(n)];
    const std::uint64_t before = s;
    s = 0;
    const Extended sum = Combine().before_rounding(problem, n / problem.out, n % problem.out);
    if (!sum.is_finite()) {
      s = before;
      continue;
    }
    s = round_to_nearest_even(format, draw_target(draw, problem.output_format, sum.value) - sum.value);
    if (is_infinite(format, s)) {
      s = before;
    } else if (draw.one_in(3) && !is_zero(format, s)) {
      const std::uint64_t beside = draw.one_in(2) ? s - 1 : s + 1;
      s = is_infinite(format, beside) ? s : beside;
    }
  }
}

// NaN in the rows of slots that do not count, and in the p of absent ones.
void poison(CombineProblem& problem) {
  const FloatTensor& p = problem.mixture_weights;
  for (std::int64_t slot = 0; slot < problem.tokens * problem.top_k; ++slot) {
    const bool absent = problem.selected_experts && (*problem.selected_experts)[index(slot)] == -1;
    const bool skipped =
        problem.policy.skip_zero_p == SkipZeroP::kYes && is_zero(p.format, p.bits[index(slot)]);
    if (absent || skipped) {
      std::fill_n(problem.rows.begin() + slot * problem.out, problem.out, std::uint64_t{0x7FFF});
    }
    if (absent) problem.mixture_weights.bits[index(slot)] = p.format.canonical_nan();
  }
}

}  // namespace

CombineProblem draw_combine(Draw& draw) {
  CombineProblem problem;
  problem.tokens = draw.between(draw.one_in(12) ? 0 : 1, 3);
  problem.top_k = draw.between(draw.one_in(8) ? 0 : 1, 4);
  problem.out = draw.between(draw.one_in(12) ? 0 : 1, 3);
  problem.output_format = kFloatFormats[draw.below(4)];
  problem.policy.ids = draw.pick({Ids::kError, Ids::kAbsent});
  problem.policy.skip_zero_p = draw.pick({SkipZeroP::kNo, SkipZeroP::kYes});
  const std::int64_t slots = problem.tokens * problem.top_k;
  problem.rows = draw_floats(draw, kBf16, draw_float_mood(draw), slots * problem.out);
  problem.mixture_weights = draw_tensor(draw, slots);
  problem.shared_output = draw_tensor(draw, problem.tokens * problem.out);
  problem.wide_ids = draw.one_in(2);
  if (draw.one_in(2)) {
    problem.selected_experts.emplace();
    for (std::int64_t n = 0; n < slots; ++n) {
      problem.selected_experts->push_back(
          draw.one_in(3) ? -1 : draw.pick<std::int64_t>({0, 1, 2, 895, 0x7FFFFFFF}));
    }
  }
  if (draw.one_in(6)) cancel_slots(draw, problem);
  if (draw.one_in(6)) {
    for (std::uint64_t& p : problem.mixture_weights.bits) {
      if (draw.one_in(2)) p = draw.one_in(2) ? problem.mixture_weights.format.sign_bit() : 0;
    }
  }
  if (draw.one_in(2)) aim_shared(draw, problem);
  if (draw.one_in(4)) {
    std::vector<std::uint64_t>* tensors[] = {&problem.rows, &problem.mixture_weights.bits,
                                             &problem.shared_output.bits};
    const FloatFormat formats[] = {kBf16, problem.mixture_weights.format, problem.shared_output.format};
    const std::size_t n = draw.below(3);
    for (std::uint64_t& bits : *tensors[n]) {
      if (draw.one_in(3)) bits = draw_non_finite(draw, formats[n]);
    }
  }
  if (draw.one_in(2)) poison(problem);
  return problem;
}

std::vector<CombineProblem> shrinks(const CombineProblem& problem) {
  std::vector<CombineProblem> result;
  const auto [tokens, top_k, out] = std::tuple(problem.tokens, problem.top_k, problem.out);
  for (std::int64_t t = 0; t < tokens && tokens > 1; ++t) {
    const std::vector<std::int64_t> kept = all_but(tokens, t);
    CombineProblem& p = result.emplace_back(problem);
    p.tokens = tokens - 1;
    p.rows = keep(problem.rows, 1, tokens, top_k * out, kept);
    p.mixture_weights.bits = keep(problem.mixture_weights.bits, 1, tokens, top_k, kept);
    p.shared_output.bits = keep(problem.shared_output.bits, 1, tokens, out, kept);
    if (p.selected_experts) p.selected_experts = keep(*problem.selected_experts, 1, tokens, top_k, kept);
  }
  for (std::int64_t slot = 0; slot < top_k; ++slot) {
    const std::vector<std::int64_t> kept = all_but(top_k, slot);
    CombineProblem& p = result.emplace_back(problem);
    p.top_k = top_k - 1;
    p.rows = keep(problem.rows, tokens, top_k, out, kept);
    p.mixture_weights.bits = keep(problem.mixture_weights.bits, tokens, top_k, 1, kept);
    if (p.selected_experts) p.selected_experts = keep(*problem.selected_experts, tokens, top_k, 1, kept);
  }
  for (std::int64_t o = 0; o < out && out > 1; ++o) {
    CombineProblem& p = result.emplace_back(problem);
    p.out = out - 1;
    p.rows = keep(problem.rows, tokens * top_k, out, 1, all_but(out, o));
    p.shared_output.bits = keep(problem.shared_output.bits, tokens, out, 1, all_but(out, o));
  }
  for (std::size_t n = 0; n < problem.rows.size(); ++n) {
    if (problem.rows[n] != 0) result.emplace_back(problem).rows[n] = 0;
  }
  for (std::size_t n = 0; n < problem.shared_output.bits.size(); ++n) {
    if (problem.shared_output.bits[n] != 0) result.emplace_back(problem).shared_output.bits[n] = 0;
  }
  return result;
}

}  // namespace problems

namespace slow_model {
namespace {

void print(std::ostream& stream, const char* name, const FloatFormat& format,
           const std::vector<std::uint64_t>& bits) {
  stream << "\n  " << name << " " << format.name << ":" << std::hex;
  for (const std::uint64_t element : bits) stream << " " << element;
  stream << std::dec;
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const CombineProblem& problem) {
  stream << "op=combine tokens=" << problem.tokens << " top_k=" << problem.top_k << " out=" << problem.out
         << " dtype=" << problem.output_format.name
         << " ids=" << (problem.policy.ids == Ids::kError ? "error" : "absent")
         << " skip_zero_p=" << (problem.policy.skip_zero_p == SkipZeroP::kNo ? "no" : "yes");
  print(stream, "rows", kBf16, problem.rows);
  print(stream, "mixture_weights", problem.mixture_weights.format, problem.mixture_weights.bits);
  if (problem.selected_experts) {
    stream << "\n  selected_experts " << (problem.wide_ids ? "I64" : "I32") << ":";
    for (const std::int64_t id : *problem.selected_experts) stream << " " << id;
  }
  print(stream, "shared_output", problem.shared_output.format, problem.shared_output.bits);
  return stream;
}

}  // namespace slow_model
