#include "reference/linear/exact_output.h"

#include <bit>

#include "reference/linear/row_dot.h"

namespace moe4 {

void ExactOutput::add_double(double v) {
  const ExactValue value = decode(F64Bits{std::bit_cast<std::uint64_t>(v)});
  if (value.is_zero()) return;
  sum_.add(value);
  minus_zero_ = false;
}

std::uint64_t ExactOutput::round(Dtype dtype) const {
  const FloatFormat format = format_of(dtype);
  if (sum_.is_zero()) return round_to(format, minus_zero_, {});  // LIN-7, COR-7
  return sum_.round(format);
}

ExactToken::ExactToken(const LinearInputs& inputs, const Policy& policy, std::int64_t t)
    : t_(t),
      weights_(inputs.weights, policy),
      shared_output_(inputs.shared_output),
      slots_(contributing_slots(inputs.selected_experts, inputs.mixture_weights, t, policy)) {
  const Elements<2> tokens(inputs.latent_tokens);
  const std::int64_t in = inputs.latent_tokens.dim(1);
  x_.reserve(static_cast<std::size_t>(in));
  for (std::int64_t i = 0; i < in; ++i) x_.push_back(tokens.value({t, i}));
}

DotSum ExactToken::dot(const Slot& slot, std::int64_t o) const {
  return row_dot(weights_, slot.expert, o, x_);
}

// Combine: the slots and the shared output (LIN-3, LIN-5).
ExactOutput ExactToken::output(std::int64_t o) const {
  const ExactValue s = shared_output_.value({t_, o});
  OutputSum sum;
  sum.add(s);
  for (const Slot& slot : slots_) sum.add_product(slot.p, dot(slot, o));
  const bool minus_zero = slots_.empty() && s.is_zero() && s.negative;  // LIN-7
  return ExactOutput(sum, minus_zero);
}

Result<ExactLinear> ExactLinear::create(const LinearInputs& inputs, const Policy& policy) {
  const Result<ExpertLinearDims> dims = validate_expert_linear(inputs, policy);
  if (!dims.ok()) return dims.error();
  return ExactLinear(inputs, policy, dims.value());
}

}  // namespace moe4
