// cvt between all types, with rounding, clamping, .sat, .ftz and the packed forms.
#include <gtest/gtest.h>

#include <map>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

using Int128 = __int128;
constexpr Round kNear = Round::kNearestEven;
constexpr const char* kIntegers[] = {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"};

bool is_signed(const std::string& type) { return type[0] == 's'; }
Int128 least(const std::string& type) { return is_signed(type) ? -(Int128{1} << (width_of(type) - 1)) : 0; }
Int128 most(const std::string& type) { return (Int128{1} << (width_of(type) - is_signed(type))) - 1; }
Int128 value_of(const std::string& type, Bits bits) {
  const int width = width_of(type);
  const Bits low = low_bits(bits, width);
  return Int128{low} - (is_signed(type) && low >> (width - 1) ? Int128{1} << width : 0);
}
// An 8-bit destination lives in a 16-bit register here, extended by its own signedness.
Bits in_register(const std::string& type, Int128 value) {
  return low_bits(static_cast<Bits>(value), std::max(16, width_of(type)));
}

Format format_of(const std::string& type) {
  static const std::map<std::string, Format> formats = {
      {"f16", kF16}, {"bf16", kBf16}, {"f32", kF32}, {"f64", kF64}};
  return formats.at(type);
}
Want number(const Format& f, Bits bits) { return is_nan(f, bits) ? Want::nan() : Want(bits); }

std::vector<Row> floats(const std::string& type) {
  const Format f = format_of(type);
  std::vector<Row> rows = join(singles(float_edges(f)), random_floats(31, 800, 1, f));
  Lcg random(32);
  for (int i = 0; i < 800; ++i) rows.push_back({near_one(random, f, std::min(f.max_exponent - 1, 66))});
  return rows;
}

// Source registers hold 16 bits at least; garbage above the source type must not count.
std::vector<Row> integers(const std::string& type) {
  const int width = std::max(16, width_of(type));
  return join(singles(integer_edges(width)), random_rows(33, 200, {width}));
}

TEST(Convert, IntegerToInteger) {
  for (const std::string to : kIntegers)
    for (const std::string from : kIntegers) {
      if (to == from) continue;
      const Snippet cvt = instruction("cvt." + to + "." + from, to, {from});
      expect_model(cvt, integers(from), [&](const Row& r) -> std::vector<Want> {
        const Bits wrapped = low_bits(static_cast<Bits>(value_of(from, r[0])), width_of(to));
        return {in_register(to, value_of(to, wrapped))};
      });
      if (least(to) <= least(from) && most(to) >= most(from)) continue;  // .sat is illegal there
      expect_model(instruction("cvt.sat." + to + "." + from, to, {from}), integers(from),
                   [&](const Row& r) -> std::vector<Want> {
                     return {in_register(to, std::min(std::max(value_of(from, r[0]), least(to)), most(to)))};
                   });
    }
}

// Operands may be wider than the instruction type: the low part is read, the result extended to the register.
TEST(Convert, RegistersWiderThanTheType) {
  const std::vector<Row> rows = join(singles(integer_edges(32)), random_rows(34, 100, {32}));
  expect_model(instruction("cvt.s32.s8", "s32", {"b32"}), rows, [](const Row& r) -> std::vector<Want> {
    return {low_bits(static_cast<Bits>(value_of("s8", r[0])), 32)};
  });
  expect_model(instruction("cvt.s16.s8", "b32", {"b32"}), rows, [](const Row& r) -> std::vector<Want> {
    return {low_bits(static_cast<Bits>(value_of("s8", r[0])), 32)};
  });
  expect_model(instruction("cvt.u16.u32", "b32", {"b32"}), rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] & 0xffff}; });
  expect_model(instruction("cvt.s64.s32", "b64", {"b64"}), singles(integer_edges(64)),
               [](const Row& r) -> std::vector<Want> { return {static_cast<Bits>(value_of("s32", r[0]))}; });
  expect_model(instruction("cvt.u64.u16", "b64", {"b32"}), rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] & 0xffff}; });
  expect_model(instruction("cvt.s8.s32", "b32", {"b32"}), rows, [](const Row& r) -> std::vector<Want> {
    return {low_bits(static_cast<Bits>(value_of("s8", r[0])), 32)};
  });
}

TEST(Convert, IntegerToFloat) {
  for (const std::string to : {"f16", "bf16", "f32", "f64"})
    for (const std::string from : kIntegers)
      for (const Round round : kRounds) {
        if (to == "bf16" && (round != kNear || width_of(from) == 8)) continue;
        std::vector<Row> rows = integers(from);
        if (width_of(from) >= 32)
          for (int shift = 20; shift < width_of(from) - 1;
               ++shift)  // around every tie of the narrower significands
            for (const Int128 offset : {-1, 0, 1})
              for (const int tie : {7, 10, 23, 52})
                if (shift > tie)
                  rows.push_back({low_bits(
                      static_cast<Bits>((Int128{1} << shift) + (Int128{1} << (shift - tie - 1)) + offset),
                      width_of(from))});
        const Format f = format_of(to);
        expect_model(instruction(std::string("cvt.") + name_of(round) + "." + to + "." + from, to, {from}),
                     rows, [&](const Row& r) -> std::vector<Want> {
                       return {float_from_integer(value_of(from, r[0]), f, round)};
                     });
      }
}

// NaN: 0, but the top bit alone when the source is f64 or the destination has 64 bits (ISA, integer notes of
// cvt).
TEST(Convert, FloatToIntegerRoundsAndClamps) {
  const std::map<Round, std::string> modifier = {
      {kNear, "rni"}, {Round::kZero, "rzi"}, {Round::kDown, "rmi"}, {Round::kUp, "rpi"}};
  for (const std::string from : {"f16", "bf16", "f32", "f64"})
    for (const std::string to : kIntegers)
      for (const Round round : kRounds) {
        const bool narrow = width_of(to) == 8;
        if (narrow && (round != Round::kZero || from == "bf16")) continue;
        const Format f = format_of(from);
        expect_model(instruction("cvt." + modifier.at(round) + "." + to + "." + from, to, {from}),
                     floats(from), [&](const Row& r) -> std::vector<Want> {
                       const auto value = float_to_integer(f, r[0], round, least(to), most(to));
                       if (value) return {in_register(to, *value)};
                       const bool top_bit = from == "f64" || width_of(to) == 64;
                       if (top_bit && width_of(to) < 32) return {Want::anything()};
                       return {top_bit ? Bits{1} << (width_of(to) - 1) : 0};
                     });
      }
}

TEST(Convert, FlushToZeroBeforeRoundingToInteger) {
  for (const std::string to : {"s32", "u32", "s64"})
    for (const auto& [modifier, round] : {std::pair{"rpi", Round::kUp}, std::pair{"rmi", Round::kDown}})
      expect_model(instruction(std::string("cvt.") + modifier + ".ftz." + to + ".f32", to, {"f32"}),
                   floats("f32"), [&, up = round](const Row& r) -> std::vector<Want> {
                     const auto value = float_to_integer(kF32, flush(kF32, r[0]), up, least(to), most(to));
                     if (!value) return {width_of(to) == 64 ? Bits{1} << 63 : 0};
                     return {in_register(to, *value)};
                   });
}

TEST(Convert, FloatToFloat) {
  struct Pair {
    const char *to, *from;
    bool rounds;  // needs a rounding modifier
  };
  const Pair pairs_of_types[] = {{"f16", "f32", true},   {"bf16", "f32", true}, {"f32", "f64", true},
                                 {"f16", "f64", true},   {"bf16", "f64", true}, {"f32", "f16", false},
                                 {"f32", "bf16", false}, {"f64", "f32", false}, {"f64", "f16", false},
                                 {"f64", "bf16", false}, {"bf16", "f16", true}, {"f16", "bf16", true}};
  for (const Pair& p : pairs_of_types) {
    const Format from = format_of(p.from), to = format_of(p.to);
    std::vector<Row> rows = floats(p.from);
    if (from.precision >
        to.precision) {  // ties and their neighbours in the destination, its overflow and its subnormals
      Lcg random(35);
      const int dropped = from.precision - to.precision;
      for (int i = 0; i < 600; ++i) {
        const Bits exponent = Bits(from.max_exponent - to.max_exponent - to.precision) +
                              random.below(static_cast<std::uint32_t>(2 * to.max_exponent + to.precision));
        const Bits kept = low_bits(random.next64(), to.precision - 1) << dropped;
        const Bits tie = kept | Bits{1} << (dropped - 1);
        const Bits sign = Bits{random.below(2)} << (from.bits - 1);
        if (exponent >= Bits(2 * from.max_exponent)) continue;
        for (const Bits fraction : {tie, tie - 1, tie + 1, kept})
          rows.push_back({sign | exponent << (from.precision - 1) | fraction});
      }
    }
    if (p.rounds && p.from == std::string("f16"))
      for (Bits bits = 0; bits < 0x10000; bits += 3) rows.push_back({bits});
    for (const Round round : kRounds) {
      if (!p.rounds && round != kNear) continue;
      const std::string modifier = p.rounds ? std::string(".") + name_of(round) : "";
      expect_model(instruction("cvt" + modifier + "." + p.to + "." + p.from, p.to, {p.from}), rows,
                   [&](const Row& r) -> std::vector<Want> {
                     return {number(to, float_convert(from, r[0], to, round))};
                   });
    }
  }
}

TEST(Convert, EveryHalfWidens) {
  for (const std::string from : {"f16", "bf16"}) {
    std::vector<Row> all;
    for (Bits bits = 0; bits < 0x10000; ++bits) all.push_back({bits});
    expect_model(instruction("cvt.f32." + from, "f32", {from}), all, [&](const Row& r) -> std::vector<Want> {
      return {number(kF32, float_convert(format_of(from), r[0], kF32, kNear))};
    });
  }
}

TEST(Convert, RoundToIntegralKeepsTheSignOfZero) {
  const std::map<Round, std::string> modifier = {
      {kNear, "rni"}, {Round::kZero, "rzi"}, {Round::kDown, "rmi"}, {Round::kUp, "rpi"}};
  for (const std::string type : {"f16", "f32", "f64"})
    for (const Round round : kRounds)
      expect_model(instruction("cvt." + modifier.at(round) + "." + type + "." + type, type, {type}),
                   floats(type), [&](const Row& r) -> std::vector<Want> {
                     return {number(format_of(type), float_integral(format_of(type), r[0], round))};
                   });
}

TEST(Convert, SaturateFloats) {
  const auto saturated = [](const Format& f, Bits bits) -> Want {
    const Bits sign = Bits{1} << (f.bits - 1);
    if (is_nan(f, bits)) return 0;
    if (bits & sign) return bits == sign ? Want::either(0, sign) : Want(0);
    return std::min(bits, Bits(f.max_exponent) << (f.precision - 1));
  };
  expect_model(instruction("cvt.sat.f32.f32", "f32", {"f32"}), floats("f32"),
               [&](const Row& r) -> std::vector<Want> { return {saturated(kF32, r[0])}; });
  expect_model(instruction("cvt.rn.sat.f16.f32", "f16", {"f32"}), floats("f32"),
               [&](const Row& r) -> std::vector<Want> {
                 return {saturated(kF16, float_convert(kF32, r[0], kF16, kNear))};
               });
  expect_model(instruction("cvt.ftz.sat.f32.f32", "f32", {"f32"}), floats("f32"),
               [&](const Row& r) -> std::vector<Want> { return {saturated(kF32, flush(kF32, r[0]))}; });
}

TEST(Convert, FlushBetweenFloats) {
  expect_model(instruction("cvt.ftz.f64.f32", "f64", {"f32"}), floats("f32"),
               [](const Row& r) -> std::vector<Want> {
                 return {number(kF64, float_convert(kF32, flush(kF32, r[0]), kF64, kNear))};
               });
  std::vector<Row> rows = floats("f64");
  for (Bits bits : float_edges(kF32)) rows.push_back({float_convert(kF32, bits, kF64, kNear)});
  expect_model(instruction("cvt.rn.ftz.f32.f64", "f32", {"f64"}), rows,
               [](const Row& r) -> std::vector<Want> {
                 const Bits near = float_convert(kF64, r[0], kF32, kNear),
                            zero = float_convert(kF64, r[0], kF32, Round::kZero);
                 if (is_subnormal(kF32, zero) && !is_subnormal(kF32, near))
                   return {Want::either(near, flush(kF32, zero))};
                 return {number(kF32, flush(kF32, near))};
               });
}

// The first source goes to the upper half.
TEST(Convert, PackedPairsFirstSourceIsHigh) {
  const std::vector<Row> rows =
      join(pairs(float_edges(kF32), {0x3f800000, 0xc0490fdb, 0x7fc00000}), random_floats(36, 800, 2, kF32));
  for (const std::string type : {"f16", "bf16"})
    for (const std::string modifier : {"rn", "rz", "rn.relu"}) {
      const Format f = format_of(type);
      const Round round = modifier == "rz" ? Round::kZero : kNear;
      const bool relu = modifier == "rn.relu";
      const auto half = [=](Bits bits) -> Want {
        const Bits h = float_convert(kF32, bits, f, round);
        if (is_nan(f, h)) return Want::nan();
        if (relu && h == 0x8000) return Want::either(0, h);
        return Want(relu && (h & 0x8000) ? 0 : h);
      };
      expect_model(
          {"{\n.reg .b32 x;\ncvt." + modifier + "." + type + "x2.f32 x, %a, %b;\nmov.b32 {%d, %q}, x;\n}",
           {"f32", "f32"},
           {type, type}},
          rows, [&](const Row& r) -> std::vector<Want> {
            return {half(r[1]), half(r[0])};
          });
    }
}

}  // namespace
}  // namespace moe4::ptx::test
