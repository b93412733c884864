// Operands of one execution: edges of the type, ties of the rounding that follows, cancellation between
// operands, subnormals, uniform bits.
#include <algorithm>
#include <bit>

#include "oracle/hardware/float_bits.h"
#include "oracle/hardware/probe_operands.h"

namespace moe4::oracle {
namespace {

std::uint64_t low_bits(std::uint64_t value, int count) {
  return count >= 64 ? value : value & ((std::uint64_t{1} << count) - 1);
}

std::uint64_t float_edge(const FloatBits& f, Key key) {
  const std::uint64_t one = f.power(false, 0), ulp = 1, normal = f.power(false, 1 - f.bias());
  const std::uint64_t edges[] = {0,
                                 1,
                                 2,
                                 f.mantissa_mask(),
                                 f.mantissa_mask() - 1,
                                 normal,
                                 normal + ulp,
                                 one,
                                 one + ulp,
                                 one - 1,
                                 one / 2,
                                 one + one / 2,
                                 f.power(false, 1),
                                 f.inf() - 1,
                                 f.inf() - 2,
                                 f.inf(),
                                 f.inf(),
                                 f.inf() | 1,  // signalling
                                 f.inf() | (f.mantissa_mask() / 2 + 1),
                                 f.inf() | f.mantissa_mask(),
                                 f.power(false, 3 - f.bias()),
                                 f.power(false, f.bias())};
  const auto n = static_cast<std::int64_t>(std::size(edges));
  return edges[key(1).pick(n)] | (key(2).bits(0, 1) ? f.sign() : 0);
}

// How many low bits of the mantissa a following conversion cuts off, for 2^exponent.
int cut_bits(const FloatBits& f, std::string_view near, int exponent) {
  if (near == "int") return std::clamp(f.mantissa_bits - exponent, 1, f.mantissa_bits);
  if (near == "bf16" || near == "f16" || near == "f32") {
    const FloatBits to = float_bits(near);
    const int subnormal = std::max(0, 1 - to.bias() - exponent);
    return std::clamp(f.mantissa_bits - to.mantissa_bits + subnormal, 1, f.mantissa_bits);
  }
  return f.mantissa_bits / 2;
}

// The tie of a rounding to fewer bits, or one next to it. With nothing following: a short significand, whose
// products have one bit more than the type.
std::uint64_t float_tie(const FloatBits& f, std::string_view near, Key key) {
  int exponent = static_cast<int>(key(1).pick(25)) - 12;
  if (near == "int") exponent = static_cast<int>(key(1).pick(f.mantissa_bits + 12)) - 2;
  if (near == "f16" || near == "f32" || near == "bf16") {
    const FloatBits to = float_bits(near);
    const std::int64_t lowest = 1 - to.bias() - to.mantissa_bits - 2;
    const std::int64_t wide = lowest + key(1).pick(to.bias() - lowest + 2);
    if (key(4).pick(2) == 0) exponent = static_cast<int>(wide);
  }
  const int cut = cut_bits(f, near, exponent) + (near.empty() ? static_cast<int>(key(5).pick(2)) : 0);
  const std::uint64_t low =
      near.empty() ? std::uint64_t{1} << cut
                   : (std::uint64_t{1} << (cut - 1)) + static_cast<std::uint64_t>(key(2).pick(3) - 1);
  const std::uint64_t high = key(3).word() >> 1 << (near.empty() ? cut + 1 : cut);
  return f.number(key(6).bits(0, 1), exponent + f.bias(), high | low_bits(low, f.mantissa_bits));
}

std::uint64_t small_number(const FloatBits& f, Key key) {
  const auto n = static_cast<std::uint64_t>(key(1).pick(128));  // halves
  const bool negative = key(2).bits(0, 1);
  if (n == 0) return f.number(negative, 0, 0);
  const int top = std::bit_width(n) - 1;
  return f.number(negative, top - 1 + f.bias(),
                  f.mantissa_bits >= top ? n << (f.mantissa_bits - top) : n >> (top - f.mantissa_bits));
}

// Uniform magnitude bits below `end`: every binade alike.
std::uint64_t below(const FloatBits& f, Key key, std::uint64_t begin, std::uint64_t end) {
  return (begin + static_cast<std::uint64_t>(key(1).pick(static_cast<std::int64_t>(end - begin)))) |
         (key(2).bits(0, 1) ? f.sign() : 0);
}

std::uint64_t draw_float(const FloatBits& f, std::string_view near, Key key) {
  const Key value = key(7);
  const std::int64_t mode = key.pick(8);
  if (near == "middle") return below(f, value, f.power(false, -40), f.power(false, 40));
  if (near == "angle" && mode != 0) return below(f, value, f.power(false, -60), 0x40490fdb);     // π
  if (near == "exponent" && mode != 0) return below(f, value, f.power(false, -30), 0x43160000);  // 150
  if (near == "angle") return key(1).pick(2) ? 0 : f.inf();
  const bool negative = value(3).bits(0, 1);
  const std::uint64_t mantissa = value(4).word();
  switch (mode) {
    case 0:
      return float_edge(f, value);
    case 1:
      return low_bits(value.word(), 1 + f.exponent_bits + f.mantissa_bits);
    case 2:
      return f.number(negative, f.bias() + value(5).pick(25) - 12, mantissa);
    case 3:
      return f.number(negative, f.bias() + value(5).pick(9) - 4, mantissa << (f.mantissa_bits - 3));
    case 4:
      return f.number(negative, value(5).pick(3), mantissa);
    case 5:
      return small_number(f, value);
    case 6:
      return near.empty()
                 ? f.number(negative, static_cast<std::int64_t>(f.exponent_mask()) - 1 - value(5).pick(3),
                            mantissa)
                 : float_tie(f, near, value);
    default:
      return float_tie(f, near, value);
  }
}

std::uint64_t draw_integer(int width, std::string_view near, Key key) {
  const Key value = key(7);
  if (near == "shift" && key.pick(8) != 0) return static_cast<std::uint64_t>(value.pick(72));
  const std::uint64_t word = value.word();
  const int length = 1 + static_cast<int>(value(1).pick(width));
  switch (key.pick(4)) {
    case 0: {
      const std::uint64_t top = std::uint64_t{1} << (width - 1), every = ~std::uint64_t{0};
      const std::uint64_t edges[] = {
          0, 1, 2, 3, every, every - 1, top, top - 1, top + 1, 0x5555555555555555u, 0xAAAAAAAAAAAAAAAAu};
      return low_bits(edges[value(2).pick(11)], width);
    }
    case 1:
      return low_bits(word, length);
    case 2: {
      // A tie when it becomes a number of 24, 11 or 8 significant bits.
      constexpr int kDigits[] = {24, 11, 8};
      const int cut = length - kDigits[value(3).pick(3)];
      if (near != "float" || cut < 1) return low_bits(word, width);
      const std::uint64_t tie =
          (std::uint64_t{1} << (cut - 1)) + static_cast<std::uint64_t>(value(4).pick(3) - 1);
      const std::uint64_t high = (low_bits(word, length) | std::uint64_t{1} << (length - 1)) >> cut << cut;
      const std::uint64_t number = high + tie;
      return low_bits(value(5).bits(0, 1) ? ~number + 1 : number, width);
    }
    default:
      return low_bits(word, width);
  }
}

std::uint64_t draw(const ProbeOperand& operand, Key key) {
  const std::string& type = operand.type.name;
  if (type[0] != 'f' && type[0] != 'b') {
    return draw_integer(static_cast<int>(operand.type.bytes * 8), operand.near, key);
  }
  if (type == "b32") return draw_integer(32, operand.near, key);
  const FloatBits f = float_bits(type);
  if (!type.ends_with("x2")) return draw_float(f, operand.near, key);
  return draw_float(f, operand.near, key(0)) | draw_float(f, operand.near, key(1)) << 16;
}

}  // namespace

std::vector<std::uint64_t> scalar_operands(const Probe& probe, Key key) {
  std::vector<std::uint64_t> values;
  for (std::size_t n = 0; n < probe.operands.size(); ++n) {
    const ProbeOperand& operand = probe.operands[n];
    if (operand.immediate) continue;
    const Key own = key(static_cast<std::int64_t>(n) + 1);
    std::uint64_t value = draw(operand, own);
    // One in eight cancels against the first, up to some units in the last place.
    const bool same = n > 0 && operand.near.empty() && operand.type.name == probe.operands[0].type.name;
    if (same && own(8).pick(8) == 0) {
      const FloatBits f = float_bits(operand.type.name);
      value = values[0] ^ f.sign() ^ static_cast<std::uint64_t>(own(9).pick(4));
    }
    values.push_back(value);
  }
  // A third operand that takes most of the product away leaves what one rounding keeps and two lose.
  const bool fused = probe.instruction.starts_with("fma.") && probe.operands[0].type.name == "f32";
  if (fused && key(10).pick(4) == 0) {
    const float a = std::bit_cast<float>(static_cast<std::uint32_t>(values[0]));
    const float b = std::bit_cast<float>(static_cast<std::uint32_t>(values[1]));
    const float product = a * b;
    if (product == product) values[2] = std::bit_cast<std::uint32_t>(product) ^ 0x80000000u;
  }
  return values;
}

}  // namespace moe4::oracle
