// The weights that a declared arithmetic multiplies with (PRO-12, PRO-13, ACC-6), as doubles, by scale.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "reference/formats/elements.h"
#include "reference/formats/packed_codes.h"
#include "reference/linear/expert_weights.h"
#include "reference/policy.h"
#include "reference/profile/arithmetic.h"
#include "reference/profile/declared_weights.h"

namespace moe4 {

// No term: the lowest bit of zero.
inline constexpr int kNoBit = 1 << 28;

// The exponent of the lowest set bit of a finite double; kNoBit for zero.
int lowest_bit(double v);

// What the 16 codes mean under one scale.
struct ScaleWeights {
  std::array<ExactValue, 16> exact;
  std::array<double, 16> value;  // 0 where the weight is not finite (BND-13)
  std::array<int, 16> low_bit;
  std::array<bool, 16> finite;
  ExactValue factor;        // of a group's sum: 1, but for accumulator_scale
  double factor_value = 1;  // 0 if it is not finite
};

// Not for use by several threads at once: it remembers the scales that it has met.
class WeightTables {
 public:
  // Precondition: valid weights. tokens: the dtype that a tensor core's operands have.
  WeightTables(const ExpertWeights& weights, const Policy& policy, const Arithmetic& arithmetic,
               Dtype tokens);

  // The meanings of the codes of group g of row o of expert e; valid as long as this object.
  const ScaleWeights& scale(std::int64_t e, std::int64_t o, std::int64_t g);
  bool has_factors() const { return declared_.has_factors(); }
  std::array<std::uint8_t, kGroupSize> codes(std::int64_t e, std::int64_t o, std::int64_t g) const {
    return reader_.codes(e, o, g);
  }

 private:
  std::unique_ptr<const ScaleWeights> weights_of(std::int64_t e, std::int64_t o, std::int64_t g) const;

  WeightReader reader_;
  DeclaredWeights declared_;
  const FloatFormat* operand_;  // what a tensor core rounds weights to (ACC-6); null for other units
  std::vector<std::unique_ptr<const ScaleWeights>> by_scale_;
};

}  // namespace moe4
