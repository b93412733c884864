#include "tests/gpu/ptx/exact_float.h"

#include <bit>

namespace moe4::ptx::test {
namespace {

struct Parts {
  std::uint64_t significand;
  int exponent;
};

// A finite non-zero number as significand * 2^exponent.
Parts parts(const Format& f, Bits bits) {
  const Bits fraction = bits & ((Bits{1} << (f.precision - 1)) - 1);
  const int field = static_cast<int>((bits & ~(Bits{1} << (f.bits - 1))) >> (f.precision - 1));
  if (field == 0) return {fraction, f.least()};
  return {fraction | Bits{1} << (f.precision - 1), f.least() + field - 1};
}

Parts normalised(Parts p) {
  const int shift = std::countl_zero(p.significand) - 11;  // to 53 bits
  return {p.significand << shift, p.exponent - shift};
}

Number infinite(bool negative) { return {Number::Kind::kInfinite, negative, {}}; }
Number nan() { return {Number::Kind::kNan, false, {}}; }

bool away_from_zero(Round round, bool negative, bool odd, bool half, bool rest) {
  switch (round) {
    case Round::kNearestEven:
      return half && (rest || odd);
    case Round::kZero:
      return false;
    case Round::kDown:
      return negative && (half || rest);
    case Round::kUp:
      return !negative && (half || rest);
  }
  return false;
}

Number sum(const Number& a, const Number& b, Round round) {
  if (a.kind == Number::Kind::kNan || b.kind == Number::Kind::kNan) return nan();
  const bool a_inf = a.kind == Number::Kind::kInfinite, b_inf = b.kind == Number::Kind::kInfinite;
  if (a_inf && b_inf) return a.negative == b.negative ? a : nan();
  if (a_inf) return a;
  if (b_inf) return b;
  if (a.negative == b.negative) return {Number::Kind::kFinite, a.negative, a.magnitude.plus(b.magnitude)};
  const int order = a.magnitude.compare(b.magnitude);
  if (order == 0) return {Number::Kind::kFinite, round == Round::kDown, {}};
  if (order > 0) return {Number::Kind::kFinite, a.negative, a.magnitude.minus(b.magnitude)};
  return {Number::Kind::kFinite, b.negative, b.magnitude.minus(a.magnitude)};
}

Number product(const Format& f, Bits a, Bits b) {
  const Number x = decode(f, a), y = decode(f, b);
  const bool negative = x.negative != y.negative;
  if (x.kind == Number::Kind::kNan || y.kind == Number::Kind::kNan) return nan();
  const bool x_zero = x.kind == Number::Kind::kFinite && x.magnitude.zero();
  const bool y_zero = y.kind == Number::Kind::kFinite && y.magnitude.zero();
  if (x.kind == Number::Kind::kInfinite || y.kind == Number::Kind::kInfinite)
    return x_zero || y_zero ? nan() : infinite(negative);
  if (x_zero || y_zero) return {Number::Kind::kFinite, negative, {}};
  const Parts p = parts(f, a), q = parts(f, b);
  return {
      Number::Kind::kFinite, negative,
      Magnitude::of(static_cast<unsigned __int128>(p.significand) * q.significand, p.exponent + q.exponent)};
}

Bits negate(const Format& f, Bits a) {
  return is_nan(f, a) ? a : a ^ Bits { 1 } << (f.bits - 1);
}

// The integer next to a magnitude, by the rounding mode.
Magnitude to_integral(const Number& a, Round round) {
  const Magnitude& m = a.magnitude;
  const unsigned __int128 whole = m.integer_part();
  const bool up = away_from_zero(round, a.negative, whole & 1, m.bit(-1), m.any_below(-1));
  return Magnitude::of(whole + up, 0);
}

}  // namespace

const char* name_of(Round round) {
  switch (round) {
    case Round::kNearestEven:
      return "rn";
    case Round::kZero:
      return "rz";
    case Round::kDown:
      return "rm";
    case Round::kUp:
      return "rp";
  }
  return "";
}

Magnitude Magnitude::of(unsigned __int128 value, int exponent) {
  Magnitude m;
  const int at = exponent + kPoint;
  for (int i = 0; i < 128; ++i)
    if (value >> i & 1)
      m.limbs_[static_cast<std::size_t>((at + i) / 64)] |= std::uint64_t{1} << ((at + i) % 64);
  return m;
}

bool Magnitude::zero() const {
  for (const std::uint64_t limb : limbs_)
    if (limb) return false;
  return true;
}

int Magnitude::top() const {
  for (std::size_t i = kLimbs; i-- > 0;)
    if (limbs_[i]) return static_cast<int>(i) * 64 + 63 - std::countl_zero(limbs_[i]) - kPoint;
  return -kPoint;
}

bool Magnitude::bit(int exponent) const {
  const int at = exponent + kPoint;
  return at >= 0 && at < 64 * kLimbs && (limbs_[static_cast<std::size_t>(at / 64)] >> (at % 64) & 1);
}

bool Magnitude::any_below(int exponent) const {
  for (int i = 0; i < kLimbs; ++i) {
    const int from = exponent + kPoint - 64 * i;  // bits of this limb that lie below
    if (from <= 0) return false;
    const std::uint64_t mask = from >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << from) - 1;
    if (limbs_[static_cast<std::size_t>(i)] & mask) return true;
  }
  return false;
}

int Magnitude::compare(const Magnitude& other) const {
  for (std::size_t i = kLimbs; i-- > 0;)
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
  return 0;
}

Magnitude Magnitude::plus(const Magnitude& other) const {
  Magnitude m;
  unsigned __int128 carry = 0;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    carry += static_cast<unsigned __int128>(limbs_[i]) + other.limbs_[i];
    m.limbs_[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  return m;
}

Magnitude Magnitude::minus(const Magnitude& other) const {
  Magnitude m;
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    const unsigned __int128 take = static_cast<unsigned __int128>(other.limbs_[i]) + borrow;
    borrow = limbs_[i] < take;
    m.limbs_[i] = limbs_[i] - static_cast<std::uint64_t>(take);
  }
  return m;
}

void Magnitude::add_unit(int exponent) { *this = plus(of(1, exponent)); }

unsigned __int128 Magnitude::integer_part() const {
  if (!zero() && top() >= 127) return static_cast<unsigned __int128>(1) << 127;
  unsigned __int128 value = 0;
  for (int i = 127; i >= 0; --i) value = value << 1 | bit(i);
  return value;
}

Number decode(const Format& f, Bits bits) {
  const bool negative = bits >> (f.bits - 1) & 1;
  if (is_nan(f, bits)) return nan();
  const Bits magnitude = bits & ~(Bits{1} << (f.bits - 1));
  if (magnitude == Bits(2 * f.max_exponent + 1) << (f.precision - 1)) return infinite(negative);
  const Parts p = parts(f, bits);
  return {Number::Kind::kFinite, negative, Magnitude::of(p.significand, p.exponent)};
}

Bits encode(const Format& f, const Number& number, Round round) {
  const Bits sign = number.negative ? Bits{1} << (f.bits - 1) : 0;
  const Bits infinity = Bits(2 * f.max_exponent + 1) << (f.precision - 1);
  if (number.kind == Number::Kind::kNan) return quiet_nan(f);
  if (number.kind == Number::Kind::kInfinite) return sign | infinity;
  Magnitude m = number.magnitude;
  if (m.zero()) return sign;
  const auto unit_of = [&f](int top) { return std::max(top - f.precision + 1, f.least()); };
  const int unit = unit_of(m.top());
  if (away_from_zero(round, number.negative, m.bit(unit), m.bit(unit - 1), m.any_below(unit - 1)))
    m.add_unit(unit);
  if (m.top() < f.least()) return sign;
  if (m.top() > f.max_exponent) {
    const bool to_infinity = round == Round::kNearestEven || (round == Round::kDown && number.negative) ||
                             (round == Round::kUp && !number.negative);
    return sign | (to_infinity ? infinity : infinity - 1);
  }
  const int last = unit_of(m.top());
  Bits significand = 0;
  for (int i = f.precision - 1; i >= 0; --i) significand = significand << 1 | m.bit(last + i);
  const Bits field = significand >> (f.precision - 1) ? Bits(last - f.least() + 1) : 0;
  return sign | field << (f.precision - 1) | (significand & ((Bits{1} << (f.precision - 1)) - 1));
}

Bits quiet_nan(const Format& f) { return (Bits{1} << (f.bits - 1)) - 1; }
bool is_nan(const Format& f, Bits bits) {
  return (bits & ~(Bits{1} << (f.bits - 1))) > Bits(2 * f.max_exponent + 1) << (f.precision - 1);
}
bool is_subnormal(const Format& f, Bits bits) {
  const Bits magnitude = bits & ~(Bits{1} << (f.bits - 1));
  return magnitude != 0 && magnitude < Bits{1} << (f.precision - 1);
}
Bits flush(const Format& f, Bits bits) {
  return is_subnormal(f, bits) ? bits & Bits{1} << (f.bits - 1) : bits;
}

Bits float_add(const Format& f, Bits a, Bits b, Round round) {
  return encode(f, sum(decode(f, a), decode(f, b), round), round);
}
Bits float_sub(const Format& f, Bits a, Bits b, Round round) { return float_add(f, a, negate(f, b), round); }
Bits float_mul(const Format& f, Bits a, Bits b, Round round) { return encode(f, product(f, a, b), round); }
Bits float_fma(const Format& f, Bits a, Bits b, Bits c, Round round) {
  return encode(f, sum(product(f, a, b), decode(f, c), round), round);
}

Bits float_div(const Format& f, Bits a, Bits b, Round round) {
  const Number x = decode(f, a), y = decode(f, b);
  const bool negative = x.negative != y.negative;
  if (x.kind == Number::Kind::kNan || y.kind == Number::Kind::kNan) return quiet_nan(f);
  if (x.kind == Number::Kind::kInfinite)
    return y.kind == Number::Kind::kInfinite ? quiet_nan(f) : encode(f, infinite(negative), round);
  if (y.kind == Number::Kind::kInfinite) return encode(f, {Number::Kind::kFinite, negative, {}}, round);
  if (y.magnitude.zero()) return x.magnitude.zero() ? quiet_nan(f) : encode(f, infinite(negative), round);
  if (x.magnitude.zero()) return encode(f, {Number::Kind::kFinite, negative, {}}, round);
  const Parts p = normalised(parts(f, a)), q = normalised(parts(f, b));
  const unsigned __int128 dividend = static_cast<unsigned __int128>(p.significand) << 63;
  const unsigned __int128 quotient = dividend / q.significand;
  const bool sticky = dividend % q.significand != 0;
  const int exponent = p.exponent - q.exponent - 63;
  return encode(f, {Number::Kind::kFinite, negative, Magnitude::of(quotient << 1 | sticky, exponent - 1)},
                round);
}

Bits float_sqrt(const Format& f, Bits a, Round round) {
  const Number x = decode(f, a);
  if (x.kind == Number::Kind::kNan) return quiet_nan(f);
  if (x.kind == Number::Kind::kFinite && x.magnitude.zero()) return a;
  if (x.negative) return quiet_nan(f);
  if (x.kind == Number::Kind::kInfinite) return a;
  Parts p = normalised(parts(f, a));
  if (p.exponent % 2) p = {p.significand << 1, p.exponent - 1};
  const unsigned __int128 radicand = static_cast<unsigned __int128>(p.significand) << 70;
  unsigned __int128 root = 0;
  for (int i = 63; i >= 0; --i) {
    const unsigned __int128 next = root | static_cast<unsigned __int128>(1) << i;
    if (next * next <= radicand) root = next;
  }
  const bool sticky = root * root != radicand;
  return encode(
      f, {Number::Kind::kFinite, false, Magnitude::of(root << 1 | sticky, (p.exponent - 70) / 2 - 1)}, round);
}

Bits float_convert(const Format& from, Bits a, const Format& to, Round round) {
  return encode(to, decode(from, a), round);
}

Bits float_from_integer(__int128 value, const Format& to, Round round) {
  const bool negative = value < 0;
  const auto magnitude = static_cast<unsigned __int128>(negative ? -value : value);
  return encode(to, {Number::Kind::kFinite, negative, Magnitude::of(magnitude, 0)}, round);
}

Bits float_integral(const Format& f, Bits a, Round round) {
  const Number x = decode(f, a);
  if (x.kind != Number::Kind::kFinite) return encode(f, x, round);
  if (!x.magnitude.zero() && x.magnitude.top() >= f.precision - 1) return a;
  return encode(f, {Number::Kind::kFinite, x.negative, to_integral(x, round)}, round);
}

std::optional<__int128> float_to_integer(const Format& f, Bits a, Round round, __int128 least,
                                         __int128 most) {
  const Number x = decode(f, a);
  if (x.kind == Number::Kind::kNan) return std::nullopt;
  if (x.kind == Number::Kind::kInfinite) return x.negative ? least : most;
  if (!x.magnitude.zero() && x.magnitude.top() >= 100) return x.negative ? least : most;
  const auto whole = static_cast<__int128>(to_integral(x, round).integer_part());
  const __int128 value = x.negative ? -whole : whole;
  return value < least ? least : value > most ? most : value;
}

}  // namespace moe4::ptx::test
