#include "reference/profile/declared_weights.h"

#include "reference/arithmetic/round.h"

namespace moe4 {

DeclaredWeights::DeclaredWeights(const ExpertWeights& weights, const Policy& policy,
                                 const Arithmetic& arithmetic)
    : reader_(weights, policy),
      scales_(weights.scales),
      format_(weights.format),
      operand_(arithmetic.weight),
      dequant_(arithmetic.dequant) {}

WeightGroup DeclaredWeights::group(std::int64_t e, std::int64_t o, std::int64_t g) const {
  WeightGroup group = reader_.group(e, o, g);
  if (format_ == WeightFormat::kInt4 && dequant_ != Int4Order::kNorm) {
    const BF16Bits scale{static_cast<std::uint16_t>(scales_.bits({e, o, g}))};
    for (std::uint8_t code = 0; code < 16; ++code) {
      group.value_of_code[code] = dequantise(Int4Bits{code}, scale, dequant_).weight;  // PRO-13
    }
  }
  if (format_ == WeightFormat::kMxfp4 && operand_ == WeightOperand::kBf16) {
    for (ExactValue& w : group.value_of_code) w = decode_float(kBF16, round_to(kBF16, w));  // PRO-12
  }
  return group;
}

ExactValue DeclaredWeights::factor(std::int64_t e, std::int64_t o, std::int64_t g) const {
  const BF16Bits scale{static_cast<std::uint16_t>(scales_.bits({e, o, g}))};
  return dequantise(Int4Bits{0}, scale, dequant_).group_factor;
}

}  // namespace moe4
