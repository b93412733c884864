#include "reference/linear/exact_output.h"

#include <bit>

#include "reference/arithmetic/product.h"
#include "reference/linear/weight.h"

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

ExactToken::ExactToken(const ExpertLinearInputs& inputs, const Policy& policy, std::int64_t t)
    : t_(t),
      policy_(policy),
      packed_weights_(inputs.packed_weights),
      scale_bytes_(inputs.scale_bytes),
      shared_output_(inputs.shared_output),
      slots_(contributing_slots(inputs.selected_experts, inputs.mixture_weights, t, policy)) {
  const Elements<2> tokens(inputs.latent_tokens);
  const std::int64_t in = inputs.latent_tokens.dim(1);
  x_.reserve(static_cast<std::size_t>(in));
  for (std::int64_t i = 0; i < in; ++i) x_.push_back(tokens.value({t, i}));
}

// Decode: the codes of one group (FMT-3, FMT-4).
std::array<E2M1Bits, kGroupSize> ExactToken::codes_of_group(std::int64_t expert, std::int64_t o,
                                                            std::int64_t g) const {
  std::array<E2M1Bits, kGroupSize> codes{};
  for (int k = 0; k < kGroupSize; ++k) {
    const std::uint64_t byte = packed_weights_.bits({expert, o, g, byte_of_element(k)});
    codes[k] = code_in_byte(static_cast<std::uint8_t>(byte), k);
  }
  return codes;
}

// Scale: what each code means in one group (FMT-5).
std::array<ExactValue, 16> ExactToken::weights_of_codes(std::int64_t expert, std::int64_t o,
                                                        std::int64_t g) const {
  return weights_of_group(E8M0Bits{static_cast<std::uint8_t>(scale_bytes_.bits({expert, o, g}))}, policy_);
}

// Accumulate: one slot (LIN-2, LIN-5). Only the expert of the slot is read (LIN-4).
DotSum ExactToken::dot(const Slot& slot, std::int64_t o) const {
  DotSum d;
  const auto groups = static_cast<std::int64_t>(x_.size()) / kGroupSize;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::array<E2M1Bits, kGroupSize> codes = codes_of_group(slot.expert, o, g);
    const std::array<ExactValue, 16> weights = weights_of_codes(slot.expert, o, g);
    const ExactValue* x = x_.data() + g * kGroupSize;
    for (int k = 0; k < kGroupSize; ++k) d.add(product(weights[codes[k].bits], x[k]));
  }
  return d;
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

Result<ExactLinear> ExactLinear::create(const ExpertLinearInputs& inputs, const Policy& policy) {
  const Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(inputs, policy);
  if (!dims.ok()) return dims.error();
  return ExactLinear(inputs, policy, dims.value());
}

}  // namespace moe4
