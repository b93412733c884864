// Operand sets of the instruction tests: edges of each type, their products, and draws of a fixed generator.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/gpu/ptx/exact_float.h"
#include "tests/gpu/ptx/ptx_kernel.h"

namespace moe4::ptx::test {

// Knuth's 64-bit linear congruential generator; the high bits are the good ones.
class Lcg {
 public:
  explicit Lcg(std::uint64_t seed) : state_(seed) {}
  std::uint32_t next32() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  std::uint64_t next64() {
    const std::uint64_t high = next32();
    return high << 32 | next32();
  }
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(std::uint64_t{next32()} * n >> 32);
  }

 private:
  std::uint64_t state_;
};

inline Bits low_bits(Bits value, int width) { return width >= 64 ? value : value & ((Bits{1} << width) - 1); }

// 0, ±1, min, max, alternating patterns, and numbers around every power of two that a shift amount, a bit
// position or a byte limit could trip over.
std::vector<Bits> integer_edges(int width);

// ±0, ±subnormals (smallest, middle, largest), ±smallest normal and neighbours, numbers around 1 and 0.5
// (ties of integer rounding), huge ones, ±max, ±Inf, NaN quiet, signalling, with payload, negative.
std::vector<Bits> float_edges(const Format& format);

// A number whose exponent lies within `spread` of 1's, so that sums cancel and round in every way.
Bits near_one(Lcg& random, const Format& format, int spread);

std::vector<Row> singles(const std::vector<Bits>& a);
std::vector<Row> pairs(const std::vector<Bits>& a, const std::vector<Bits>& b);
std::vector<Row> triples(const std::vector<Bits>& a, const std::vector<Bits>& b, const std::vector<Bits>& c);

// count rows of uniform bits, one width a column.
std::vector<Row> random_rows(std::uint64_t seed, std::size_t count, const std::vector<int>& widths);
// count rows of `columns` floats: half uniform bits, half near one.
std::vector<Row> random_floats(std::uint64_t seed, std::size_t count, int columns, const Format& format);

std::vector<Row> join(std::vector<Row> a, const std::vector<Row>& b);

}  // namespace moe4::ptx::test
