// Outputs as encodings: classes, order, distance. Nothing here goes through a host float, but number() for
// printing.
#pragma once

#include <cstdint>
#include <string>

#include "reference/formats/float_format.h"
#include "reference/tensor.h"

namespace moe4::oracle {

class Encodings {
 public:
  // Precondition: is_float(dtype).
  explicit Encodings(Dtype dtype) : format_(format_of(dtype)), bytes_(size_of(dtype)) {}

  std::uint64_t load(const Tensor& tensor, std::int64_t index) const;

  bool is_nan(std::uint64_t bits) const { return magnitude(bits) > format_.infinity(); }
  bool is_inf(std::uint64_t bits) const { return magnitude(bits) == format_.infinity(); }
  bool is_finite(std::uint64_t bits) const { return magnitude(bits) < format_.infinity(); }
  bool is_zero(std::uint64_t bits) const { return magnitude(bits) == 0; }
  bool is_largest(std::uint64_t bits) const { return magnitude(bits) == format_.infinity() - 1; }
  bool is_negative(std::uint64_t bits) const { return (bits & format_.sign_bit()) != 0; }

  // a <= b for numbers and infinities. strict_zero: -0 < +0; else they are equal (VER-5).
  bool at_most(std::uint64_t a, std::uint64_t b, bool strict_zero) const;

  // Representable numbers from a to b; an infinity follows the largest finite number, the zeros are one
  // (VER-12).
  double distance(std::uint64_t a, std::uint64_t b) const;

  // The gap from |bits| to the next larger magnitude. Precondition: finite.
  double ulp(std::uint64_t bits) const;

  double number(std::uint64_t bits) const;
  std::string text(std::uint64_t bits) const;  // "0x3f80 (1)"

 private:
  std::uint64_t magnitude(std::uint64_t bits) const { return bits & (format_.sign_bit() - 1); }

  FloatFormat format_;
  std::size_t bytes_;
};

}  // namespace moe4::oracle
