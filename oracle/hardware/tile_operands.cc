// Operands of one matrix product. Row 0, column 0 of the first tiles is a planted product: each decides one
// rule of docs/spec/accumulation.md, so that a chip's L, F and treatment of zeros can be read off a
// recording.
#include <cstdlib>

#include "oracle/hardware/float_bits.h"
#include "oracle/hardware/probe_operands.h"

namespace moe4::oracle {
namespace {

struct Term {
  std::size_t at;  // depth
  std::uint16_t a, b;
};

struct Planted {
  std::uint32_t c;
  std::vector<Term> terms;  // all others are +0 · +0
};

constexpr FloatBits kF32{8, 23};

std::vector<Planted> planted(const Probe& probe) {
  const bool bf16 = probe.operands[0].type.name == "bf16";
  const FloatBits f = float_bits(probe.operands[0].type.name);
  const auto two = [&](int exponent, bool negative = false) {
    return static_cast<std::uint16_t>(f.power(negative, exponent));
  };
  // ±2^exponent as a product: both halves are operands of either type.
  const auto product = [&](std::size_t at, int exponent, bool negative = false) {
    const int half = exponent / 2;
    return Term{at, two(half, negative), two(exponent - half)};
  };
  const std::size_t last = probe.k - 1;
  const std::uint16_t one = two(0), minus_one = two(0, true), zero = 0;
  const auto minus_zero = static_cast<std::uint16_t>(f.sign()), inf = static_cast<std::uint16_t>(f.inf()),
             nan = static_cast<std::uint16_t>(f.inf() | 1);
  const auto c_of = [](int exponent, bool negative = false) {
    return static_cast<std::uint32_t>(kF32.power(negative, exponent));
  };

  std::vector<Planted> all;
  // ACC-15: does a zero operand lift the exponent to which the other terms are cut?
  all.push_back({0, {{0, zero, two(f.bias())}, product(1, -25)}});
  all.push_back({0, {{0, two(f.bias()), zero}, product(1, -24)}});
  // ACC-11: F is the last one that is kept beside 1 - 1.
  for (int bits = 20; bits <= 27; ++bits) {
    all.push_back({0, {{0, one, one}, {1, minus_one, one}, product(2, -bits)}});
  }
  // ACC-13: where the steps end. 1 + 2^-24 is cut to F32 between two steps, and not within one.
  for (std::size_t at = 2; at <= last; ++at) {
    all.push_back({0, {{0, one, one}, product(1, -24), {at, minus_one, one}}});
  }
  // ACC-11, ACC-12: the accumulator takes part in the alignment; the sum is cut toward zero.
  all.push_back(
      {c_of(23), {product(0, 23, true), product(1, -1, true), product(2, -2, true), product(3, -3, true)}});
  all.push_back({c_of(0), {product(0, -25), product(1, -26, true)}});
  all.push_back({c_of(0, true), {product(0, -23, true), product(1, -24, true)}});
  all.push_back({c_of(0), {product(0, -24), product(1, -24)}});
  // ACC-9: 1.5 · 1.5 is not renormalised.
  const auto three_halves = static_cast<std::uint16_t>(f.number(false, f.bias(), f.mantissa_mask() / 2 + 1));
  const auto minus_three_halves = static_cast<std::uint16_t>(three_halves | minus_zero);
  all.push_back({c_of(-25), {{0, three_halves, three_halves}, {1, minus_three_halves, three_halves}}});
  // ACC-12: a zero sum is +0, and so is a positive one that is cut to zero.
  all.push_back({0x80000000u, {}});
  all.push_back({0x80000000u, {{0, minus_zero, one}, {1, zero, minus_one}}});
  all.push_back({0x80000000u, {{0, one, one}, {1, minus_one, one}}});
  // ACC-9: subnormal operands are honoured, with the exponent of the smallest normal one.
  const int smallest = 1 - f.bias() - f.mantissa_bits;
  all.push_back({0, {{0, two(smallest), one}}});
  all.push_back({0, {{0, two(smallest), two(smallest)}}});
  all.push_back({1, {}});
  // ACC-8: special values.
  all.push_back({c_of(0), {{0, inf, zero}}});
  all.push_back({0xff800000u, {{0, inf, one}}});
  all.push_back({c_of(0), {{0, inf, one}}});
  all.push_back({c_of(0), {{0, inf, one}, {last, inf, minus_one}}});
  all.push_back({c_of(0), {{0, nan, one}}});
  all.push_back({0x7f800001u, {}});
  all.push_back({0xff800000u, {{0, one, one}}});
  // ACC-12: overflow.
  all.push_back({0x7f7fffffu, {product(0, 15)}});
  if (bf16) {
    all.push_back({0x7f7fffffu, {product(0, 103)}});
    all.push_back({0x7f7fffffu, {product(0, 104)}});
    all.push_back({0, {product(0, 254), product(1, 254, true), {2, one, one}}});
    all.push_back({c_of(-52), {{0, two(-133), two(100)}, {1, two(-133, true), two(100)}}});
    // ACC-10: e_zero, and what lies below its grid.
    all.push_back({0, {product(0, -149), product(1, -150, true)}});
    all.push_back({0, {product(0, -149), product(1, -159, true)}});
    all.push_back({0, {product(0, -149), product(1, -157, true)}});
    all.push_back({0, {product(0, -149), product(1, -155, true)}});
    all.push_back({0, {product(0, -149), product(1, -153, true)}});
    Planted full{0, {}};  // no term is zero: the same sum without e_zero
    for (std::size_t at = 0; at <= last; ++at)
      full.terms.push_back(product(at, at == 0 ? -149 : -160, at > 0));
    all.push_back(full);
  }
  return all;
}

std::uint16_t draw(const FloatBits& f, std::int64_t mode, Key key) {
  const bool negative = key.bits(63, 1);
  const std::uint64_t mantissa = key(1).word();
  const auto around = [&](std::int64_t spread) {
    return f.number(negative, f.bias() + key(2).pick(2 * spread + 1) - spread, mantissa);
  };
  std::uint64_t bits = 0;
  switch (mode) {
    case 0:  // near one: sums cancel
      bits = around(2);
      break;
    case 1:  // all binades, subnormals too
      bits = f.number(negative, key(2).pick(static_cast<std::int64_t>(f.exponent_mask())), mantissa);
      break;
    case 2:  // few terms
      bits = key(3).pick(3) == 0 ? around(8) : (negative ? f.sign() : 0);
      break;
    case 3:
      bits = f.number(negative, key(2).pick(2), mantissa);
      break;
    case 4:  // short significands: exact sums and ties
      bits = f.number(negative, f.bias() + key(2).pick(13) - 6, mantissa << (f.mantissa_bits - 1));
      break;
    default:  // anything, now and then not finite
      bits = key(4).pick(24) == 0 ? key(5).word() & (f.sign() * 2 - 1) : around(10);
  }
  return static_cast<std::uint16_t>(bits);
}

}  // namespace

std::size_t planted_products(const Probe& probe) { return planted(probe).size(); }

TileOperands tile_operands(const Probe& probe, std::uint32_t tile, Key key) {
  const FloatBits f = float_bits(probe.operands[0].type.name);
  const std::size_t m = probe.m, n = probe.n, k = probe.k;
  const std::int64_t mode = key(0).pick(6);
  TileOperands all;
  for (std::size_t at = 0; at < m * k; ++at) {
    all.a.push_back(draw(f, mode, key(1)(static_cast<std::int64_t>(at))));
  }
  for (std::size_t at = 0; at < n * k; ++at) {
    all.b.push_back(draw(f, mode == 3 ? key(4).pick(2) * 3 : mode, key(2)(static_cast<std::int64_t>(at))));
  }
  for (std::size_t at = 0; at < m * n; ++at) {
    const Key own = key(3)(static_cast<std::int64_t>(at));
    const std::int64_t spread = mode == 1 ? 126 : mode == 0 ? 3 : 25;
    const std::uint64_t number =
        kF32.number(own.bits(0, 1), 127 + own(1).pick(2 * spread + 1) - spread, own(2).word());
    const std::int64_t what = own(3).pick(8);
    const std::uint64_t special = mode == 5 && own(4).pick(8) == 0 ? own(5).word() & 0xffffffffu : number;
    all.c.push_back(
        static_cast<std::uint32_t>(what == 0 ? own(6).bits(0, 1) << 31 : static_cast<std::int64_t>(special)));
  }
  const std::vector<Planted> plants = planted(probe);
  if (tile < plants.size()) {
    for (std::size_t at = 0; at < k; ++at) all.a[at] = all.b[at] = 0;
    for (const Term& term : plants[tile].terms) {
      all.a[term.at] = term.a;
      all.b[term.at] = term.b;
    }
    all.c[0] = plants[tile].c;
  }
  return all;
}

}  // namespace moe4::oracle
