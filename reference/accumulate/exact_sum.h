// An exact sum over the extended reals (LIN-5): a fixed accumulator for the finite terms, three flags for the
// others.
#pragma once

#include <cstdint>

#include "reference/accumulate/exact.h"
#include "reference/arithmetic/round.h"
#include "reference/formats/exact_value.h"

namespace moe4 {

enum class SumClass : std::uint8_t { kFinite, kNan, kPlusInf, kMinusInf };

template <int kLimbs, int kLsb>
class ExactSum {
 public:
  void add(const ExactValue& term) {
    if (term.is_finite()) {
      finite_.add(term.negative, term.significand, term.exponent);
    } else {
      add_non_finite(term);
    }
  }

  // Adds factor * other as one term (LIN-5: NaN if one is infinite and the other exactly zero).
  template <int kOtherLimbs, int kOtherLsb>
  void add_product(const ExactValue& factor, const ExactSum<kOtherLimbs, kOtherLsb>& other) {
    if (factor.is_finite() && other.cls() == SumClass::kFinite) {
      finite_.add_product(other.finite(), factor.negative, factor.significand, factor.exponent);
    } else if (factor.cls == ValueClass::kNan || other.cls() == SumClass::kNan || factor.is_zero() ||
               other.is_zero()) {
      add_non_finite(ExactValue::nan());
    } else {
      add_non_finite(ExactValue::inf(factor.negative != other.is_negative()));
    }
  }

  SumClass cls() const {
    if (nan_ || (plus_inf_ && minus_inf_)) return SumClass::kNan;
    if (plus_inf_) return SumClass::kPlusInf;
    if (minus_inf_) return SumClass::kMinusInf;
    return SumClass::kFinite;
  }
  bool is_zero() const { return cls() == SumClass::kFinite && finite_.is_zero(); }
  // True below zero, -Inf included; false for zero and NaN.
  bool is_negative() const {
    return cls() == SumClass::kMinusInf || (cls() == SumClass::kFinite && finite_.is_negative());
  }
  // The sum of the finite terms.
  const FixedAccumulator<kLimbs, kLsb>& finite() const { return finite_; }

  // FMT-7; an exact zero is +0 (LIN-7), NaN is canonical (LIN-6).
  std::uint64_t round(const FloatFormat& format) const {
    switch (cls()) {
      case SumClass::kNan:
        return round_to(format, ExactValue::nan());
      case SumClass::kPlusInf:
      case SumClass::kMinusInf:
        return round_to(format, ExactValue::inf(is_negative()));
      case SumClass::kFinite:
        break;
    }
    return round_to(format, finite_.is_negative(), finite_.leading());
  }

 private:
  void add_non_finite(const ExactValue& term) {
    nan_ = nan_ || term.cls == ValueClass::kNan;
    plus_inf_ = plus_inf_ || (term.cls == ValueClass::kInf && !term.negative);
    minus_inf_ = minus_inf_ || (term.cls == ValueClass::kInf && term.negative);
  }

  FixedAccumulator<kLimbs, kLsb> finite_;
  bool nan_ = false;
  bool plus_inf_ = false;
  bool minus_inf_ = false;
};

}  // namespace moe4
