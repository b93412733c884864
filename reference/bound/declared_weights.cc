#include "reference/bound/declared_weights.h"

#include <bit>
#include <cmath>

#include "reference/arithmetic/round.h"
#include "reference/bound/exact_double.h"
#include "reference/linear/weight.h"

namespace moe4 {
namespace {

// PRO-12, ACC-6: BF16 on request; what a tensor core takes is of the token dtype.
const FloatFormat* operand_format(const Arithmetic& arithmetic, Dtype tokens) {
  if (arithmetic.accumulation.kind == Accumulation::Kind::kTensorCore) {
    return tokens == Dtype::kF16 ? &kF16 : &kBF16;
  }
  return arithmetic.weight == WeightOperand::kBf16 ? &kBF16 : nullptr;
}

}  // namespace

int lowest_bit(double v) {
  if (v == 0) return kNoBit;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(significand));
}

DeclaredWeights::DeclaredWeights(const ExpertWeights& weights, const Policy& policy,
                                 const Arithmetic& arithmetic, Dtype tokens)
    : reader_(weights, policy),
      format_(weights.format),
      policy_(policy),
      dequant_(arithmetic.dequant),
      operand_(operand_format(arithmetic, tokens)),
      by_scale_(weights.format == WeightFormat::kMxfp4 ? 1U << 8 : 1U << 16) {}

const ScaleWeights& DeclaredWeights::scale(std::int64_t e, std::int64_t o, std::int64_t g) {
  const std::uint64_t bits = reader_.scale_bits(e, o, g);
  auto& known = by_scale_[static_cast<std::size_t>(bits)];
  if (!known) known = weights_of(bits);
  return *known;
}

std::unique_ptr<const ScaleWeights> DeclaredWeights::weights_of(std::uint64_t scale_bits) const {
  auto weights = std::make_unique<ScaleWeights>();
  weights->factor = ExactValue::finite(false, 1, 0);
  if (format_ == WeightFormat::kMxfp4) {
    weights->exact = weights_of_group(E8M0Bits{static_cast<std::uint8_t>(scale_bits)}, policy_);
  } else {
    for (std::uint8_t code = 0; code < 16; ++code) {
      const Int4Term term =
          dequantise(Int4Bits{code}, BF16Bits{static_cast<std::uint16_t>(scale_bits)}, dequant_);
      weights->exact[code] = term.weight;
      weights->factor = term.group_factor;
    }
  }
  weights->factor_value = weights->factor.is_finite() ? to_double(weights->factor) : 0.0;
  for (std::size_t code = 0; code < 16; ++code) {
    ExactValue& exact = weights->exact[code];
    if (operand_ != nullptr) exact = decode_float(*operand_, round_to(*operand_, exact));
    weights->finite[code] = exact.is_finite() && weights->factor.is_finite();
    weights->value[code] = weights->finite[code] ? to_double(exact) : 0.0;
    weights->low_bit[code] = lowest_bit(weights->value[code]);
  }
  return weights;
}

}  // namespace moe4
