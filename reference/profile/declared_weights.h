// The weights of all experts as the declared kernel multiplies with them (PRO-12, PRO-13).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/expert_weights.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

class DeclaredWeights {
 public:
  // Precondition: valid weights, an arithmetic that check_arithmetic lets pass for them.
  DeclaredWeights(const ExpertWeights& weights, const Policy& policy, const Arithmetic& arithmetic);

  // w of the codes of one group.
  WeightGroup group(std::int64_t e, std::int64_t o, std::int64_t g) const;

  // ACC-16: dequant=accumulator_scale, where the sum of a group is multiplied by its scale.
  bool has_factors() const { return dequant_ == Int4Order::kAccumulatorScale; }
  ExactValue factor(std::int64_t e, std::int64_t o, std::int64_t g) const;

  // w of row o of expert e, columns 0..in-1, each code of a group converted once.
  template <class Native, class Convert>
  std::vector<Native> row(std::int64_t e, std::int64_t o, std::int64_t in, Convert convert) const {
    std::vector<Native> w;
    w.reserve(static_cast<std::size_t>(in));
    for (std::int64_t g = 0; g < in / kGroupSize; ++g) {
      const WeightGroup decoded = group(e, o, g);
      std::array<Native, 16> native;
      for (std::size_t code = 0; code < 16; ++code) native[code] = convert(decoded.value_of_code[code]);
      for (const std::uint8_t code : decoded.code) w.push_back(native[code]);
    }
    return w;
  }

 private:
  WeightReader reader_;
  Elements<3> scales_;
  WeightFormat format_;
  WeightOperand operand_;
  Int4Order dequant_;
};

}  // namespace moe4
