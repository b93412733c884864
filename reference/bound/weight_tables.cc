#include "reference/bound/weight_tables.h"

#include <bit>
#include <cmath>

#include "reference/arithmetic/round.h"
#include "reference/bound/exact_double.h"

namespace moe4 {
namespace {

const FloatFormat* operand_format(const Arithmetic& arithmetic, Dtype tokens) {
  if (arithmetic.accumulation.kind != Accumulation::Kind::kTensorCore) return nullptr;
  return tokens == Dtype::kF16 ? &kF16 : &kBF16;
}

}  // namespace

int lowest_bit(double v) {
  if (v == 0) return kNoBit;
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  return exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(significand));
}

WeightTables::WeightTables(const ExpertWeights& weights, const Policy& policy, const Arithmetic& arithmetic,
                           Dtype tokens)
    : reader_(weights, policy),
      declared_(weights, policy, arithmetic),
      operand_(operand_format(arithmetic, tokens)),
      by_scale_(weights.format == WeightFormat::kMxfp4 ? 1U << 8 : 1U << 16) {}

const ScaleWeights& WeightTables::scale(std::int64_t e, std::int64_t o, std::int64_t g) {
  auto& known = by_scale_[static_cast<std::size_t>(reader_.scale_bits(e, o, g))];
  if (!known) known = weights_of(e, o, g);
  return *known;
}

std::unique_ptr<const ScaleWeights> WeightTables::weights_of(std::int64_t e, std::int64_t o,
                                                             std::int64_t g) const {
  auto weights = std::make_unique<ScaleWeights>();
  weights->exact = declared_.group(e, o, g).value_of_code;
  weights->factor = declared_.has_factors() ? declared_.factor(e, o, g) : ExactValue::finite(false, 1, 0);
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
