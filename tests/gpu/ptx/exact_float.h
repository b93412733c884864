// The tests' own floating point: exact sums, products and quotients on a fixed-point grid of 4352 bits,
// rounded once. Shares nothing with the executor and does not use the host's floating-point unit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tests/gpu/ptx/ptx_kernel.h"

namespace moe4::ptx::test {

struct Format {
  int bits;                                                   // of the encoding
  int precision;                                              // significant bits with the hidden one
  int max_exponent;                                           // of the largest finite number, = bias
  int least() const { return 2 - max_exponent - precision; }  // log2 of the smallest subnormal
};
inline constexpr Format kF16{16, 11, 15}, kBf16{16, 8, 127}, kF32{32, 24, 127}, kF64{64, 53, 1023};

enum class Round { kNearestEven, kZero, kDown, kUp };
// "rn", "rz", "rm", "rp"
const char* name_of(Round round);
inline constexpr Round kRounds[] = {Round::kNearestEven, Round::kZero, Round::kDown, Round::kUp};

// A magnitude: bit i of the limbs has weight 2^(i - kPoint).
class Magnitude {
 public:
  static constexpr int kLimbs = 68, kPoint = 2176;
  static Magnitude of(unsigned __int128 value, int exponent);  // value * 2^exponent
  bool zero() const;
  int top() const;  // exponent of the highest set bit; only when not zero
  bool bit(int exponent) const;
  bool any_below(int exponent) const;
  int compare(const Magnitude& other) const;
  Magnitude plus(const Magnitude& other) const;
  Magnitude minus(const Magnitude& other) const;  // other <= *this
  void add_unit(int exponent);
  unsigned __int128 integer_part() const;  // saturates at 2^127

 private:
  std::array<std::uint64_t, kLimbs> limbs_{};
};

struct Number {
  enum class Kind { kFinite, kInfinite, kNan } kind = Kind::kFinite;
  bool negative = false;
  Magnitude magnitude;  // finite ones
};

Number decode(const Format& format, Bits bits);
// Rounded once; negative decides the sign of a zero result. nan() encodes as a quiet NaN.
Bits encode(const Format& format, const Number& number, Round round);
Bits quiet_nan(const Format& format);
bool is_nan(const Format& format, Bits bits);
bool is_subnormal(const Format& format, Bits bits);
Bits flush(const Format& format, Bits bits);  // subnormal -> zero of the same sign

Bits float_add(const Format& format, Bits a, Bits b, Round round);
Bits float_sub(const Format& format, Bits a, Bits b, Round round);
Bits float_mul(const Format& format, Bits a, Bits b, Round round);
Bits float_fma(const Format& format, Bits a, Bits b, Bits c, Round round);
Bits float_div(const Format& format, Bits a, Bits b, Round round);
Bits float_sqrt(const Format& format, Bits a, Round round);
Bits float_convert(const Format& from, Bits a, const Format& to, Round round);
Bits float_from_integer(__int128 value, const Format& to, Round round);
// Rounded to an integer in the format; the sign of a zero result is that of a.
Bits float_integral(const Format& format, Bits a, Round round);
// Clamped to [least, most]; empty for NaN.
std::optional<__int128> float_to_integer(const Format& format, Bits a, Round round, __int128 least,
                                         __int128 most);

}  // namespace moe4::ptx::test
