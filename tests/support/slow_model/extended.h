// The extended reals of LIN-5: an exact number, +Inf, -Inf, or NaN. Zero has no sign here: the sign of
// a zero result is decided once, at the end (LIN-7).
#pragma once

#include "tests/support/slow_model/dyadic.h"

namespace slow_model {

struct Extended {
  enum class Kind { kFinite, kInfinite, kNan };

  Kind kind = Kind::kFinite;
  Dyadic value;           // kFinite only
  bool negative = false;  // kInfinite only

  static Extended finite(Dyadic value) { return {Kind::kFinite, std::move(value), false}; }
  static Extended infinite(bool negative) { return {Kind::kInfinite, {}, negative}; }
  static Extended nan() { return {Kind::kNan, {}, false}; }

  bool is_finite() const { return kind == Kind::kFinite; }
  bool is_infinite() const { return kind == Kind::kInfinite; }
  bool is_nan() const { return kind == Kind::kNan; }
  int sign() const;  // -1, 0, 1; of NaN 0

  friend bool operator==(const Extended&, const Extended&) = default;
};

Extended operator+(const Extended& a, const Extended& b);
Extended operator*(const Extended& a, const Extended& b);

}  // namespace slow_model
