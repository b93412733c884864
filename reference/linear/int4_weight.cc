#include "reference/linear/int4_weight.h"

#include "reference/arithmetic/product.h"
#include "reference/arithmetic/round.h"

namespace moe4 {

BF16Bits int4_weight(Int4Bits code, BF16Bits scale) {
  const ExactValue exact = product(decode(code), decode(scale));
  return {static_cast<std::uint16_t>(round_to(kBF16, exact))};
}

std::array<ExactValue, 16> weights_of_group(BF16Bits scale) {
  std::array<ExactValue, 16> weights;
  for (std::uint8_t code = 0; code < 16; ++code) weights[code] = decode(int4_weight(Int4Bits{code}, scale));
  return weights;
}

}  // namespace moe4
