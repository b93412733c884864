// cvt: every conversion, exactly; the frequent ones have handlers of their own in alu/convert.inl.
#include <cstring>

#include "gpu/ptx/alu/narrow.h"
#include "gpu/ptx/run/handlers.h"
#include "gpu/ptx/run/soft_round.h"

namespace moe4::ptx {
namespace {

Conversion decode(std::uint64_t imm) {
  Conversion c;
  c.to = static_cast<Type>(imm & 0xff);
  c.from = static_cast<Type>((imm >> 8) & 0xff);
  c.rounding = static_cast<Rounding>((imm >> 16) & 0xff);
  c.integral = (imm >> 24) & 1;
  c.ftz = (imm >> 25) & 1;
  c.sat = (imm >> 26) & 1;
  c.relu = (imm >> 27) & 1;
  return c;
}

FloatFormat format_of(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kF16x2:
      return kFormatF16;
    case Type::kBF16:
    case Type::kBF16x2:
      return kFormatBF16;
    case Type::kF64:
      return kFormatF64;
    default:
      return kFormatF32;
  }
}

Exact flushed(Exact value, FloatFormat format) {
  if (value.kind == Exact::Kind::kFinite && value.significand < (std::uint64_t{1} << format.mantissa_bits)) {
    value.kind = Exact::Kind::kZero;
  }
  return value;
}

// Sign extension by type.
__int128 integer_from(std::uint64_t bits, Type type) {
  const unsigned width = 8 * bytes_of(type);
  if (!is_signed(type)) return static_cast<__int128>(bits);
  return static_cast<__int128>(static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width));
}

std::uint64_t clamped(__int128 value, Type type) {
  const unsigned width = 8 * bytes_of(type);
  const __int128 high = is_signed(type) ? (__int128{1} << (width - 1)) - 1 : (__int128{1} << width) - 1;
  const __int128 low = is_signed(type) ? -(__int128{1} << (width - 1)) : 0;
  return static_cast<std::uint64_t>(value < low ? low : value > high ? high : value);
}

// [0, 1], NaN to +0.
std::uint64_t saturated(std::uint64_t bits, FloatFormat format) {
  const Exact value = exact_from_bits(bits, format);
  if (value.kind == Exact::Kind::kNan || value.kind == Exact::Kind::kZero || value.negative) return 0;
  const std::uint64_t one = static_cast<std::uint64_t>(format.bias()) << format.mantissa_bits;
  return bits > one ? one : bits;
}

std::uint64_t relu(std::uint64_t bits, FloatFormat format) {
  const Exact value = exact_from_bits(bits, format);
  return value.kind != Exact::Kind::kNan && value.negative ? 0 : bits;
}

std::uint64_t float_to_float(std::uint64_t bits, const Conversion& c) {
  const FloatFormat from = format_of(c.from), to = format_of(c.to);
  Exact value = exact_from_bits(bits, from);
  // .ftz concerns FP32 alone, on either side.
  if (c.ftz && c.from == Type::kF32) value = flushed(value, from);
  if (c.integral && value.kind == Exact::Kind::kFinite && value.exponent < 0) {
    const bool negative = value.negative;
    const __int128 rounded = round_to_integer(value, c.rounding);
    value = exact_from_integer(static_cast<std::uint64_t>(rounded < 0 ? -rounded : rounded), negative);
    value.negative = negative;
  }
  std::uint64_t result = round_to(value, to, c.integral ? Rounding::kNearest : c.rounding);
  if (c.ftz && c.to == Type::kF32) {
    const Exact small = flushed(exact_from_bits(result, to), to);
    if (small.kind == Exact::Kind::kZero) result = round_to(small, to, Rounding::kNearest);
  }
  if (c.sat) result = saturated(result, to);
  if (c.relu) result = relu(result, to);
  return result;
}

// NaN gives 0, except where the source is f64 or the destination has 64 bits: there only the top bit is set.
std::uint64_t float_to_integer(std::uint64_t bits, const Conversion& c) {
  const FloatFormat from = format_of(c.from);
  Exact value = exact_from_bits(bits, from);
  if (c.ftz && c.from == Type::kF32) value = flushed(value, from);
  const unsigned width = 8 * bytes_of(c.to);
  if (value.kind == Exact::Kind::kNan) {
    return c.from == Type::kF64 || width == 64 ? std::uint64_t{1} << (width - 1) : 0;
  }
  if (value.kind == Exact::Kind::kInfinite) {
    return clamped(value.negative ? -(__int128{1} << 70) : __int128{1} << 70, c.to);
  }
  return clamped(round_to_integer(value, c.rounding), c.to);
}

std::uint64_t convert(std::uint64_t bits, const Conversion& c) {
  if (is_float(c.from)) return is_float(c.to) ? float_to_float(bits, c) : float_to_integer(bits, c);
  const __int128 value = integer_from(bits, c.from);
  if (!is_float(c.to)) return c.sat ? clamped(value, c.to) : static_cast<std::uint64_t>(value);
  const Exact exact = exact_from_integer(static_cast<std::uint64_t>(value < 0 ? -value : value), value < 0);
  const std::uint64_t result = round_to(exact, format_of(c.to), c.rounding);
  return c.sat ? saturated(result, format_of(c.to)) : result;
}

}  // namespace

std::uint64_t encode(const Conversion& c) {
  return static_cast<std::uint64_t>(c.to) | (static_cast<std::uint64_t>(c.from) << 8) |
         (static_cast<std::uint64_t>(c.rounding) << 16) | (std::uint64_t{c.integral} << 24) |
         (std::uint64_t{c.ftz} << 25) | (std::uint64_t{c.sat} << 26) | (std::uint64_t{c.relu} << 27);
}

void run_convert(Warp& warp, const Instr& instr, LaneMask mask) {
  const Conversion c = decode(instr.imm);
  const unsigned from = bytes_of(c.from), to = bytes_of(c.to);
  const std::byte* a = lanes<std::byte>(warp, instr.a);
  std::byte* d = lanes<std::byte>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    std::uint64_t bits = 0;
    std::memcpy(&bits, a + std::size_t{lane} * from, from);
    const std::uint64_t result = convert(bits, c);
    std::memcpy(d + std::size_t{lane} * to, &result, to);
  }
}

void run_convert_pair(Warp& warp, const Instr& instr, LaneMask mask) {
  const Conversion c = decode(instr.imm);
  const bool plain = c.to == Type::kBF16x2 && c.rounding == Rounding::kNearest && !c.relu && !c.sat;
  const std::uint32_t* high = lanes<std::uint32_t>(warp, instr.a);
  const std::uint32_t* low = lanes<std::uint32_t>(warp, instr.b);
  std::uint32_t* d = lanes<std::uint32_t>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    const auto half = [&](std::uint32_t bits) {
      if (plain) return std::uint32_t{bf16_from_float(std::bit_cast<float>(bits))};
      return static_cast<std::uint32_t>(float_to_float(bits, c));
    };
    d[lane] = (half(high[lane]) << 16) | half(low[lane]);
  }
}

}  // namespace moe4::ptx
