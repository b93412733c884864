#include "oracle/judge/encodings.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace moe4::oracle {

std::uint64_t Encodings::load(const Tensor& tensor, std::int64_t index) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + static_cast<std::size_t>(index) * bytes_, bytes_);
  return bits;
}

bool Encodings::at_most(std::uint64_t a, std::uint64_t b, bool strict_zero) const {
  if (!strict_zero && is_zero(a) && is_zero(b)) return true;
  if (is_negative(a) != is_negative(b)) return is_negative(a);
  return is_negative(a) ? magnitude(a) >= magnitude(b) : magnitude(a) <= magnitude(b);
}

double Encodings::distance(std::uint64_t a, std::uint64_t b) const {
  const std::uint64_t ma = magnitude(a);
  const std::uint64_t mb = magnitude(b);
  if (is_negative(a) != is_negative(b)) return static_cast<double>(ma) + static_cast<double>(mb);
  return static_cast<double>(ma < mb ? mb - ma : ma - mb);
}

double Encodings::ulp(std::uint64_t bits) const {
  const int field = static_cast<int>(magnitude(bits) >> format_.mantissa_bits);
  return std::ldexp(1.0, format_.lsb_exponent() + (field == 0 ? 0 : field - 1));
}

double Encodings::number(std::uint64_t bits) const {
  const ExactValue value = decode_float(format_, bits);
  if (value.cls == ValueClass::kNan) return std::numeric_limits<double>::quiet_NaN();
  const double size = value.cls == ValueClass::kInf
                          ? std::numeric_limits<double>::infinity()
                          : std::ldexp(static_cast<double>(value.significand), value.exponent);
  return value.negative ? -size : size;
}

std::string Encodings::text(std::uint64_t bits) const {
  const int digits = format_.width() / 4;
  if (is_nan(bits)) return fmt::format("0x{:0{}x} (NaN)", bits, digits);
  return fmt::format("0x{:0{}x} ({:.9g})", bits, digits, number(bits));
}

}  // namespace moe4::oracle
