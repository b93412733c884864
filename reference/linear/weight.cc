#include "reference/linear/weight.h"

#include "reference/arithmetic/product.h"

namespace moe4 {

ExactValue scale_value(E8M0Bits scale, const Policy& policy) {
  if (scale == kE8M0Nan) {
    switch (policy.scale_nan) {  // COR-1
      case ScaleNan::kOcp:
        return ExactValue::nan();
      case ScaleNan::kFormula:
        return ExactValue::finite(false, 1, scale.bits - kE8M0Bias);
      case ScaleNan::kInf:
        return ExactValue::inf(false);
    }
  }
  if (scale.bits == 0 && policy.scale_zero == ScaleZero::kFlush) return ExactValue{};  // COR-2
  return decode(scale);
}

ExactValue weight_value(E2M1Bits code, const ExactValue& scale) { return product(decode(code), scale); }

std::array<ExactValue, 16> weights_of_group(E8M0Bits scale, const Policy& policy) {
  const ExactValue value = scale_value(scale, policy);
  std::array<ExactValue, 16> weights;
  for (std::uint8_t code = 0; code < 16; ++code) weights[code] = weight_value(E2M1Bits{code}, value);
  return weights;
}

}  // namespace moe4
