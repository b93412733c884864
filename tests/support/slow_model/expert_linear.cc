#include "tests/support/slow_model/expert_linear.h"

namespace slow_model {
namespace {

std::uint64_t element(const FloatTensor& tensor, std::int64_t row, std::int64_t width, std::int64_t column) {
  return tensor.bits[static_cast<std::size_t>(row * width + column)];
}

}  // namespace

std::vector<std::int64_t> ExpertLinear::slots(const Problem& problem, std::int64_t t) const {
  std::vector<std::int64_t> result;
  for (std::int64_t slot = 0; slot < problem.top_k; ++slot) {
    const bool absent = expert(problem, t, slot) == -1;
    const std::uint64_t p = element(problem.mixture_weights, t, problem.top_k, slot);
    const bool skipped =
        problem.policy.skip_zero_p == SkipZeroP::kYes && is_zero(problem.mixture_weights.format, p);
    if (!absent && !skipped) {
      result.push_back(slot);
    }
  }
  return result;
}

std::int64_t ExpertLinear::summed_width(const Problem& problem) const { return problem.in(); }

Extended ExpertLinear::token(const Problem& problem, std::int64_t t, std::int64_t i) const {
  return value_of(problem.latent_tokens.format, element(problem.latent_tokens, t, problem.in(), i));
}

Extended ExpertLinear::mixture(const Problem& problem, std::int64_t t, std::int64_t slot) const {
  return value_of(problem.mixture_weights.format, element(problem.mixture_weights, t, problem.top_k, slot));
}

Extended ExpertLinear::shared(const Problem& problem, std::int64_t t, std::int64_t o) const {
  return value_of(problem.shared_output.format, element(problem.shared_output, t, problem.out, o));
}

std::int64_t ExpertLinear::expert(const Problem& problem, std::int64_t t, std::int64_t slot) const {
  return problem.selected_experts[static_cast<std::size_t>(t * problem.top_k + slot)];
}

Extended ExpertLinear::dot(const Problem& problem, std::int64_t t, std::int64_t expert,
                           std::int64_t o) const {
  Extended sum;
  for (std::int64_t i = 0; i < summed_width(problem); ++i) {
    sum = sum + weight_at(problem, expert, o, i) * token(problem, t, i);
  }
  return sum;
}

Extended ExpertLinear::weighted(const Problem&, const Extended& p, const Extended& dot) const {
  return p * dot;
}

Extended ExpertLinear::before_rounding(const Problem& problem, std::int64_t t, std::int64_t o) const {
  Extended sum = shared(problem, t, o);
  for (const std::int64_t slot : slots(problem, t)) {
    const Extended d = dot(problem, t, expert(problem, t, slot), o);
    sum = sum + weighted(problem, mixture(problem, t, slot), d);
  }
  return sum;
}

std::uint64_t ExpertLinear::rounded(const FloatFormat& format, const Dyadic& number) const {
  return round_to_nearest_even(format, number);
}

std::uint64_t ExpertLinear::zero_result(const Problem& problem, std::int64_t t, std::int64_t o) const {
  if (!slots(problem, t).empty()) {
    return 0;  // LIN-7, COR-7: +0
  }
  const std::uint64_t s = element(problem.shared_output, t, problem.out, o);
  const bool minus_zero = (s & problem.shared_output.format.sign_bit()) != 0;
  return minus_zero ? problem.output_format().sign_bit() : 0;
}

std::vector<std::uint64_t> ExpertLinear::outputs(const Problem& problem) const {
  const FloatFormat& format = problem.output_format();
  std::vector<std::uint64_t> result;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    for (std::int64_t o = 0; o < problem.out; ++o) {
      const Extended exact = before_rounding(problem, t, o);
      if (exact.is_nan()) {
        result.push_back(format.canonical_nan());  // LIN-6
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

std::vector<std::uint64_t> expert_linear(const Problem& problem) { return ExpertLinear().outputs(problem); }

bool same_value(const FloatFormat& format, std::uint64_t a, std::uint64_t b) {
  return a == b || (is_nan(format, a) && is_nan(format, b));
}

}  // namespace slow_model
