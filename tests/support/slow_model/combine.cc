#include "tests/support/slow_model/combine.h"

namespace slow_model {
namespace {

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

bool Combine::absent(const CombineProblem& problem, std::int64_t t, std::int64_t slot) const {
  return problem.selected_experts && (*problem.selected_experts)[index(t * problem.top_k + slot)] == -1;
}

bool Combine::skipped(const CombineProblem& problem, std::uint64_t p) const {
  return problem.policy.skip_zero_p == SkipZeroP::kYes && is_zero(problem.mixture_weights.format, p);
}

std::vector<std::int64_t> Combine::slots(const CombineProblem& problem, std::int64_t t) const {
  std::vector<std::int64_t> result;
  for (std::int64_t slot = 0; slot < problem.top_k; ++slot) {
    const std::uint64_t p = problem.mixture_weights.bits[index(t * problem.top_k + slot)];
    if (!absent(problem, t, slot) && !skipped(problem, p)) {
      result.push_back(slot);
    }
  }
  return result;
}

std::int64_t Combine::row_of(const CombineProblem& problem, std::int64_t t, std::int64_t slot) const {
  return t * problem.top_k + slot;
}

Extended Combine::term(const CombineProblem&, const Extended& p, const Extended& row) const {
  return p * row;
}

Extended Combine::shared(const CombineProblem& problem, std::int64_t t, std::int64_t o) const {
  return value_of(problem.shared_output.format, problem.shared_output.bits[index(t * problem.out + o)]);
}

Extended Combine::before_rounding(const CombineProblem& problem, std::int64_t t, std::int64_t o) const {
  Extended sum = shared(problem, t, o);
  for (const std::int64_t slot : slots(problem, t)) {
    const FloatTensor& mixture = problem.mixture_weights;
    const Extended p = value_of(mixture.format, mixture.bits[index(t * problem.top_k + slot)]);
    const std::uint64_t row = problem.rows[index(row_of(problem, t, slot) * problem.out + o)];
    sum = sum + term(problem, p, value_of(kBf16, row));
  }
  return sum;
}

std::uint64_t Combine::rounded(const FloatFormat& format, const Dyadic& number) const {
  return round_to_nearest_even(format, number);
}

std::uint64_t Combine::zero_result(const CombineProblem& problem, std::int64_t t, std::int64_t o) const {
  if (!slots(problem, t).empty()) {
    return 0;  // LIN-7
  }
  const std::uint64_t s = problem.shared_output.bits[index(t * problem.out + o)];
  const bool minus_zero = (s & problem.shared_output.format.sign_bit()) != 0;
  return minus_zero ? problem.output_format.sign_bit() : 0;
}

std::vector<std::uint64_t> Combine::outputs(const CombineProblem& problem) const {
  const FloatFormat& format = problem.output_format;
  std::vector<std::uint64_t> result;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    for (std::int64_t o = 0; o < problem.out; ++o) {
      const Extended exact = before_rounding(problem, t, o);
      if (exact.is_nan()) {
        result.push_back(format.canonical_nan());
      } else if (exact.is_infinite()) {
        result.push_back(exact.negative ? format.infinity() | format.sign_bit() : format.infinity());
      } else if (exact.value.is_zero()) {
        result.push_back(zero_result(problem, t, o));
      } else {
        result.push_back(rounded(format, exact.value));
      }
    }
  }
  return result;
}

}  // namespace slow_model
