#include "reference/linear/row_dot.h"

#include "reference/arithmetic/product.h"

namespace moe4 {

DotSum row_dot(const WeightReader& weights, std::int64_t e, std::int64_t o, std::span<const ExactValue> x) {
  DotSum d;
  const auto groups = static_cast<std::int64_t>(x.size()) / kGroupSize;
  for (std::int64_t g = 0; g < groups; ++g) {
    const WeightGroup group = weights.group(e, o, g);
    const ExactValue* const x_of_group = x.data() + g * kGroupSize;
    for (int k = 0; k < kGroupSize; ++k) d.add(product(group[k], x_of_group[k]));
  }
  return d;
}

}  // namespace moe4
