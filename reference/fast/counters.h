// How the outputs of a call were proved to be the norm's (certificate.h). Each output is counted once.
#pragma once

#include <cstdint>

namespace moe4::fast {

struct Counters {
  std::int64_t certified = 0;      // all sums exact in FP64
  std::int64_t certified_f32 = 0;  // all sums exact in FP32, and computed there
  std::int64_t rounding_test = 0;  // both ends of the error interval round to the same encoding
  std::int64_t exact = 0;          // computed again in the exact accumulator
  std::int64_t non_finite = 0;     // NaN or an infinity by IEEE 754 from the operands

  std::int64_t outputs() const { return certified + certified_f32 + rounding_test + exact + non_finite; }
  Counters& operator+=(const Counters& other) {
    certified += other.certified;
    certified_f32 += other.certified_f32;
    rounding_test += other.rounding_test;
    exact += other.exact;
    non_finite += other.non_finite;
    return *this;
  }
};

}  // namespace moe4::fast
