// One step of a tensor core (ACC-6 to ACC-14), written from the rules on whole numbers: a few encodings and
// an F32 in, an F32 out.
//
// Each choice of the rules is a virtual function, so that a test can plant another one and see it found.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/slow_model/short_number.h"

namespace slow_model {

struct Generation {
  std::string name;
  int products;        // L
  int fraction_bits;   // F
  long zero_exponent;  // e_zero
  bool takes_bf16;     // else F16 only
};
std::span<const Generation> generations();

class TensorStep {
 public:
  virtual ~TensorStep() = default;

  // The next c. a and b: encodings of `format` (BF16 or F16), at most L of each.
  std::uint32_t step(const Generation& generation, const FloatFormat& format,
                     std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                     std::uint32_t c) const;

  // ACC-7: a chain of any length from +0, the last step filled up.
  std::uint32_t chain(const Generation& generation, const FloatFormat& format,
                      std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) const;

 protected:
  // magnitude * 2^exponent in integers, and what it counts with in e_max.
  struct Term {
    bool negative;
    std::uint64_t magnitude;
    long last_place;
    long counts_with;
  };

  virtual int products(const Generation& generation) const;
  virtual int fraction_bits(const Generation& generation) const;
  virtual long exponent_of(const FloatFormat& format, std::uint64_t bits) const;
  virtual Term product(const Generation& generation, const FloatFormat& format, std::uint64_t a,
                       std::uint64_t b) const;
  virtual Term addend(const Generation& generation, std::uint32_t c) const;
  virtual long largest_exponent(std::span<const Term> products, const Term& c) const;
  virtual std::int64_t cut(const Term& term, long grid) const;  // in units of 2^grid, toward zero
  virtual std::uint32_t result(std::int64_t sum, long grid) const;
  virtual std::uint32_t nan() const;
};

}  // namespace slow_model
