// Exact numbers m * 2^e, of any size: what the slow model calculates with. Schoolbook arithmetic on
// sign and magnitude, so that it can be checked by reading.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace slow_model {

class Dyadic {
 public:
  Dyadic() = default;  // zero; there is one zero, without a sign

  // magnitude * 2^exponent.
  static Dyadic scaled(std::uint64_t magnitude, long exponent);

  int sign() const { return digits_.empty() ? 0 : negative_ ? -1 : 1; }
  bool is_zero() const { return digits_.empty(); }

  // The 64 bits from the highest one down; the lowest is 1 if there is any 1 at or below it. Enough to round
  // to any format. Of zero, 0.
  struct Leading {
    std::uint64_t magnitude = 0;
    long exponent = 0;
  };
  Leading leading() const;

  Dyadic operator-() const;
  Dyadic magnitude() const;
  friend Dyadic operator+(const Dyadic& a, const Dyadic& b);
  friend Dyadic operator-(const Dyadic& a, const Dyadic& b) { return a + -b; }
  friend Dyadic operator*(const Dyadic& a, const Dyadic& b);
  friend bool operator==(const Dyadic&, const Dyadic&) = default;
  friend std::strong_ordering operator<=>(const Dyadic& a, const Dyadic& b);

 private:
  std::uint32_t digit(long place) const;  // the digit worth 2^(32*place); 0 outside
  long end() const { return place_ + static_cast<long>(digits_.size()); }
  void trim();  // no zero digit at either end: one form a number
  static std::strong_ordering compare_magnitudes(const Dyadic& a, const Dyadic& b);
  static Dyadic add_magnitudes(const Dyadic& a, const Dyadic& b);
  static Dyadic subtract_magnitudes(const Dyadic& larger, const Dyadic& smaller);

  bool negative_ = false;
  std::vector<std::uint32_t> digits_;  // least significant first; empty is zero
  long place_ = 0;                     // digits_[0] is worth 2^(32*place_)
};

}  // namespace slow_model
