#include "reference/bound/directed.h"

#include <bit>

#include "reference/arithmetic/round.h"

namespace moe4 {

std::uint64_t encode_double(const FloatFormat& format, double v) {
  return round_to(format, decode(F64Bits{std::bit_cast<std::uint64_t>(v)}));
}

}  // namespace moe4
