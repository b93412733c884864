#include "tests/support/slow_model/extended.h"

namespace slow_model {

int Extended::sign() const {
  switch (kind) {
    case Kind::kFinite:
      return value.sign();
    case Kind::kInfinite:
      return negative ? -1 : 1;
    case Kind::kNan:
      return 0;
  }
  return 0;
}

Extended operator+(const Extended& a, const Extended& b) {
  if (a.is_nan() || b.is_nan()) {
    return Extended::nan();
  }
  if (a.is_infinite() && b.is_infinite()) {
    return a.negative == b.negative ? a : Extended::nan();
  }
  if (a.is_infinite() || b.is_infinite()) {
    return a.is_infinite() ? a : b;
  }
  return Extended::finite(a.value + b.value);
}

Extended operator*(const Extended& a, const Extended& b) {
  if (a.is_nan() || b.is_nan()) {
    return Extended::nan();
  }
  if (a.is_infinite() || b.is_infinite()) {
    const int sign = a.sign() * b.sign();
    return sign == 0 ? Extended::nan() : Extended::infinite(sign < 0);
  }
  return Extended::finite(a.value * b.value);
}

}  // namespace slow_model
