// Integer arithmetic, comparison by min/max, shifts and logic against host integers.
#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

using Int128 = __int128;

template <class T>
std::string type_name() {
  return (std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}
template <class T>
constexpr int kWidth = static_cast<int>(8 * sizeof(T));

template <class T>
T as(Bits bits) {
  return static_cast<T>(bits);
}
template <class T>
Bits wrap(Int128 value) {
  return low_bits(static_cast<Bits>(value), kWidth<T>);
}
template <class T>
Int128 clamp(Int128 value) {
  const Int128 least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return value < least ? least : value > most ? most : value;
}

template <class T>
std::vector<Row> two() {
  return join(pairs(integer_edges(kWidth<T>), integer_edges(kWidth<T>)),
              random_rows(1, 200, {kWidth<T>, kWidth<T>}));
}
template <class T>
std::vector<Row> three(int third) {
  const std::vector<Bits> some = {0,
                                  1,
                                  low_bits(~Bits{0}, kWidth<T>),
                                  Bits{1} << (kWidth<T> - 1),
                                  (Bits{1} << (kWidth<T> - 1)) - 1,
                                  0x5a,
                                  low_bits(0x89abcdef01234567, kWidth<T>)};
  std::vector<Bits> last = some;
  for (Bits& v : last) v = low_bits(v, third);
  return join(triples(some, some, last), random_rows(2, 300, {kWidth<T>, kWidth<T>, third}));
}

// Value = f(a, b) over host integers, wrapped to T.
template <class T, class F>
void binary(const std::string& opcode, F f) {
  const std::string t = type_name<T>();
  expect_model(instruction(opcode + "." + t, t, {t, t}), two<T>(),
               [f](const Row& r) -> std::vector<Want> { return {wrap<T>(f(as<T>(r[0]), as<T>(r[1])))}; });
}

template <class T>
void add_sub_min_max() {
  binary<T>("add", [](Int128 a, Int128 b) { return a + b; });
  binary<T>("sub", [](Int128 a, Int128 b) { return a - b; });
  binary<T>("min", [](Int128 a, Int128 b) { return a < b ? a : b; });
  binary<T>("max", [](Int128 a, Int128 b) { return a > b ? a : b; });
}

TEST(Integer, AddSubMinMax) {
  add_sub_min_max<std::int16_t>();
  add_sub_min_max<std::uint16_t>();
  add_sub_min_max<std::int32_t>();
  add_sub_min_max<std::uint32_t>();
  add_sub_min_max<std::int64_t>();
  add_sub_min_max<std::uint64_t>();
}

TEST(Integer, AddAndSubSaturate) {
  expect_model(instruction("add.sat.s32", "s32", {"s32", "s32"}), two<std::int32_t>(),
               [](const Row& r) -> std::vector<Want> {
                 return {wrap<std::int32_t>(
                     clamp<std::int32_t>(Int128{as<std::int32_t>(r[0])} + as<std::int32_t>(r[1])))};
               });
  expect_model(instruction("sub.sat.s32", "s32", {"s32", "s32"}), two<std::int32_t>(),
               [](const Row& r) -> std::vector<Want> {
                 return {wrap<std::int32_t>(
                     clamp<std::int32_t>(Int128{as<std::int32_t>(r[0])} - as<std::int32_t>(r[1])))};
               });
}

// Low and high half of the product by schoolbook on 32-bit digits of the magnitudes: 64-bit unsigned products
// do not fit a signed 128-bit integer.
template <class T>
unsigned __int128 product(T a, T b) {
  const Int128 x = a, y = b;
  const auto magnitude =
      static_cast<unsigned __int128>(x < 0 ? -x : x) * static_cast<unsigned __int128>(y < 0 ? -y : y);
  return (x < 0) != (y < 0) ? -magnitude : magnitude;
}

template <class T>
void multiply() {
  const std::string t = type_name<T>();
  const auto lo = [](const Row& r) {
    return low_bits(static_cast<Bits>(product(as<T>(r[0]), as<T>(r[1]))), kWidth<T>);
  };
  const auto hi = [](const Row& r) {
    return low_bits(static_cast<Bits>(product(as<T>(r[0]), as<T>(r[1])) >> kWidth<T>), kWidth<T>);
  };
  expect_model(instruction("mul.lo." + t, t, {t, t}), two<T>(),
               [&](const Row& r) -> std::vector<Want> { return {lo(r)}; });
  expect_model(instruction("mul.hi." + t, t, {t, t}), two<T>(),
               [&](const Row& r) -> std::vector<Want> { return {hi(r)}; });
  expect_model(instruction("mad.lo." + t, t, {t, t, t}), three<T>(kWidth<T>),
               [&](const Row& r) -> std::vector<Want> { return {low_bits(lo(r) + r[2], kWidth<T>)}; });
  expect_model(instruction("mad.hi." + t, t, {t, t, t}), three<T>(kWidth<T>),
               [&](const Row& r) -> std::vector<Want> { return {low_bits(hi(r) + r[2], kWidth<T>)}; });
}

TEST(Integer, MultiplyLowHighAndAdd) {
  multiply<std::int16_t>();
  multiply<std::uint16_t>();
  multiply<std::int32_t>();
  multiply<std::uint32_t>();
  multiply<std::int64_t>();
  multiply<std::uint64_t>();
}

template <class T, class W>
void multiply_wide() {
  const std::string t = type_name<T>(), w = type_name<W>();
  expect_model(instruction("mul.wide." + t, w, {t, t}), two<T>(), [](const Row& r) -> std::vector<Want> {
    return {wrap<W>(Int128{as<T>(r[0])} * as<T>(r[1]))};
  });
  expect_model(instruction("mad.wide." + t, w, {t, t, w}), three<T>(kWidth<W>),
               [](const Row& r) -> std::vector<Want> {
                 return {wrap<W>(Int128{as<T>(r[0])} * as<T>(r[1]) + as<W>(r[2]))};
               });
}

TEST(Integer, MultiplyWide) {
  multiply_wide<std::int16_t, std::int32_t>();
  multiply_wide<std::uint16_t, std::uint32_t>();
  multiply_wide<std::int32_t, std::int64_t>();
  multiply_wide<std::uint32_t, std::uint64_t>();
}

template <class T>
void divide() {
  const std::string t = type_name<T>();
  std::vector<Row> rows;  // x/0 and min/-1 are unspecified by the ISA
  for (const Row& r : two<T>()) {
    const bool overflow = std::is_signed_v<T> && as<T>(r[0]) == std::numeric_limits<T>::min() &&
                          r[1] == low_bits(~Bits{0}, kWidth<T>);
    if (r[1] != 0 && !overflow) rows.push_back(r);
  }
  expect_model(instruction("div." + t, t, {t, t}), rows, [](const Row& r) -> std::vector<Want> {
    return {wrap<T>(Int128{as<T>(r[0])} / as<T>(r[1]))};
  });
  expect_model(instruction("rem." + t, t, {t, t}), rows, [](const Row& r) -> std::vector<Want> {
    return {wrap<T>(Int128{as<T>(r[0])} % as<T>(r[1]))};
  });
}

TEST(Integer, DivideAndRemainderTruncate) {
  divide<std::int16_t>();
  divide<std::uint16_t>();
  divide<std::int32_t>();
  divide<std::uint32_t>();
  divide<std::int64_t>();
  divide<std::uint64_t>();
}

template <class T>
void negate_and_absolute() {
  const std::string t = type_name<T>();
  const std::vector<Row> rows = singles(integer_edges(kWidth<T>));
  expect_model(instruction("neg." + t, t, {t}), rows,
               [](const Row& r) -> std::vector<Want> { return {wrap<T>(-Int128{as<T>(r[0])})}; });
  expect_model(instruction("abs." + t, t, {t}), rows, [](const Row& r) -> std::vector<Want> {
    const Int128 a = as<T>(r[0]);
    return {wrap<T>(a < 0 ? -a : a)};
  });
}

TEST(Integer, NegateAndAbsolute) {
  negate_and_absolute<std::int16_t>();
  negate_and_absolute<std::int32_t>();
  negate_and_absolute<std::int64_t>();
}

template <class T>
void absolute_difference() {
  const std::string t = type_name<T>();
  expect_model(instruction("sad." + t, t, {t, t, t}), three<T>(kWidth<T>),
               [](const Row& r) -> std::vector<Want> {
                 const Int128 a = as<T>(r[0]), b = as<T>(r[1]);
                 return {wrap<T>(Int128{as<T>(r[2])} + (a < b ? b - a : a - b))};
               });
}

TEST(Integer, SumOfAbsoluteDifferences) {
  absolute_difference<std::int16_t>();
  absolute_difference<std::uint16_t>();
  absolute_difference<std::int32_t>();
  absolute_difference<std::uint32_t>();
  absolute_difference<std::int64_t>();
  absolute_difference<std::uint64_t>();
}

// Amounts are u32 and not masked: from the width on, nothing (or the sign) is left.
TEST(Integer, ShiftAmountsClamp) {
  const std::vector<Bits> amounts = {0,  1,  7,  15,  16,  17,         31,         32,        33,
                                     63, 64, 65, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff};
  for (const int width : {16, 32, 64}) {
    const std::vector<Row> rows = pairs(integer_edges(width), amounts);
    const std::string w = std::to_string(width);
    expect_model(instruction("shl.b" + w, "b" + w, {"b" + w, "u32"}), rows,
                 [width](const Row& r) -> std::vector<Want> {
                   return {r[1] >= static_cast<Bits>(width) ? 0 : low_bits(r[0] << r[1], width)};
                 });
    for (const char* t : {"u", "b"})
      expect_model(instruction("shr." + (t + w), t + w, {t + w, "u32"}), rows,
                   [width](const Row& r) -> std::vector<Want> {
                     return {r[1] >= static_cast<Bits>(width) ? 0 : r[0] >> r[1]};
                   });
    expect_model(instruction("shr.s" + w, "s" + w, {"s" + w, "u32"}), rows,
                 [width](const Row& r) -> std::vector<Want> {
                   const Int128 value =
                       static_cast<Int128>(r[0]) - ((r[0] >> (width - 1)) ? Int128{1} << width : 0);
                   return {low_bits(static_cast<Bits>(value >> std::min<Bits>(r[1], 64)), width)};
                 });
  }
}

TEST(Integer, Logic) {
  for (const int width : {16, 32, 64}) {
    const std::string t = "b" + std::to_string(width);
    const std::vector<Row> rows = pairs(integer_edges(width), integer_edges(width));
    expect_model(instruction("and." + t, t, {t, t}), rows,
                 [](const Row& r) -> std::vector<Want> { return {r[0] & r[1]}; });
    expect_model(instruction("or." + t, t, {t, t}), rows,
                 [](const Row& r) -> std::vector<Want> { return {r[0] | r[1]}; });
    expect_model(instruction("xor." + t, t, {t, t}), rows,
                 [](const Row& r) -> std::vector<Want> { return {r[0] ^ r[1]}; });
    const std::vector<Row> one = singles(integer_edges(width));
    expect_model(instruction("not." + t, t, {t}), one,
                 [width](const Row& r) -> std::vector<Want> { return {low_bits(~r[0], width)}; });
    expect_model(instruction("cnot." + t, t, {t}), one,
                 [](const Row& r) -> std::vector<Want> { return {r[0] == 0}; });
  }
}

TEST(Integer, PredicateLogic) {
  const std::vector<Row> rows = pairs({0, 1}, {0, 1});
  expect_model(instruction("and.pred", "pred", {"pred", "pred"}), rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] & r[1]}; });
  expect_model(instruction("or.pred", "pred", {"pred", "pred"}), rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] | r[1]}; });
  expect_model(instruction("xor.pred", "pred", {"pred", "pred"}), rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] ^ r[1]}; });
  expect_model(instruction("not.pred", "pred", {"pred"}), singles({0, 1}),
               [](const Row& r) -> std::vector<Want> { return {r[0] ^ 1}; });
  expect_model(instruction("mov.pred", "pred", {"pred"}), singles({0, 1}),
               [](const Row& r) -> std::vector<Want> { return {r[0]}; });
}

// The carry flag runs through a chain of instructions, and is a borrow in subtractions.
TEST(Integer, CarryChains) {
  const std::vector<Bits> words = {0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  std::vector<Row> rows = random_rows(5, 300, {32, 32, 32, 32});
  for (const Bits a : words)
    for (const Bits b : words)
      for (const Bits c : words)
        for (const Bits e : words) rows.push_back({a, b, c, e});
  const auto wide = [](const Row& r, std::size_t i) { return r[i + 1] << 32 | r[i]; };
  const auto split = [](Bits v) -> std::vector<Want> { return {low_bits(v, 32), v >> 32}; };
  const std::vector<std::string> in = {"u32", "u32", "u32", "u32"}, out = {"u32", "u32"};
  expect_model({"add.cc.u32 %d, %a, %c;\naddc.u32 %q, %b, %e;", in, out}, rows,
               [&](const Row& r) { return split(wide(r, 0) + wide(r, 2)); });
  expect_model({"sub.cc.u32 %d, %a, %c;\nsubc.u32 %q, %b, %e;", in, out}, rows,
               [&](const Row& r) { return split(wide(r, 0) - wide(r, 2)); });
  expect_model({"add.cc.u32 %d, %a, %c;\naddc.cc.u32 %d, %b, %e;\naddc.u32 %q, 0, 0;", in, out}, rows,
               [&](const Row& r) -> std::vector<Want> {
                 const unsigned __int128 s = static_cast<unsigned __int128>(wide(r, 0)) + wide(r, 2);
                 return {low_bits(static_cast<Bits>(s) >> 32, 32), static_cast<Bits>(s >> 64)};
               });
  expect_model({"sub.cc.u32 %d, %a, %c;\nsubc.cc.u32 %d, %b, %e;\nsubc.u32 %q, 0, 0;", in, out}, rows,
               [&](const Row& r) -> std::vector<Want> {
                 return {(wide(r, 0) - wide(r, 2)) >> 32, wide(r, 0) < wide(r, 2) ? 0xffffffffu : 0u};
               });
  // a*b + (e:c) in 64 bits
  expect_model({"mad.lo.cc.u32 %d, %a, %b, %c;\nmadc.hi.u32 %q, %a, %b, %e;", in, out}, rows,
               [&](const Row& r) { return split(r[0] * r[1] + (r[3] << 32 | r[2])); });
}

TEST(Integer, CarryChainOf64Bits) {
  const std::vector<Row> rows = join(two<std::uint64_t>(), {});
  expect_model({"add.cc.u64 %d, %a, %b;\naddc.u64 %q, 0, 0;", {"u64", "u64"}, {"u64", "u64"}}, rows,
               [](const Row& r) -> std::vector<Want> {
                 return {r[0] + r[1], r[0] + r[1] < r[0]};
               });
}

template <class A, class B>
void dot_product() {
  const std::string a = type_name<A>(), b = type_name<B>();
  const std::string c = std::is_signed_v<A> || std::is_signed_v<B> ? "s32" : "u32";
  std::vector<Row> rows = random_rows(9, 400, {32, 32, 32});
  for (const Bits x : {Bits{0}, Bits{0x80808080}, Bits{0xffffffff}, Bits{0x7f7f7f7f}, Bits{0x80ff017f}})
    for (const Bits y : {Bits{0}, Bits{0x80808080}, Bits{0xffffffff}, Bits{0x7f7f7f7f}, Bits{0x01020304}})
      for (const Bits z : {Bits{0}, Bits{0x7fffffff}, Bits{0xffffffff}}) rows.push_back({x, y, z});
  const std::string a32 = std::is_signed_v<A> ? "s32" : "u32", b32 = std::is_signed_v<B> ? "s32" : "u32";
  expect_model(instruction("dp4a." + a32 + "." + b32, c, {"b32", "b32", c}), rows,
               [](const Row& r) -> std::vector<Want> {
                 Int128 sum = static_cast<Int128>(r[2]);
                 for (int i = 0; i < 4; ++i)
                   sum += Int128{static_cast<A>(r[0] >> (8 * i))} * static_cast<B>(r[1] >> (8 * i));
                 return {low_bits(static_cast<Bits>(sum), 32)};
               });
  using A16 = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
  for (const int half : {0, 1})
    expect_model(instruction((half ? "dp2a.hi." : "dp2a.lo.") + a32 + "." + b32, c, {"b32", "b32", c}), rows,
                 [half](const Row& r) -> std::vector<Want> {
                   Int128 sum = static_cast<Int128>(r[2]);
                   for (int i = 0; i < 2; ++i)
                     sum += Int128{static_cast<A16>(r[0] >> (16 * i))} *
                            static_cast<B>(r[1] >> (16 * half + 8 * i));
                   return {low_bits(static_cast<Bits>(sum), 32)};
                 });
}

TEST(Integer, DotProductsOfBytes) {
  dot_product<std::int8_t, std::int8_t>();
  dot_product<std::uint8_t, std::uint8_t>();
  dot_product<std::int8_t, std::uint8_t>();
  dot_product<std::uint8_t, std::int8_t>();
}

// Immediates: negative where the type is unsigned, hexadecimal with and without U, both cases.
TEST(Integer, Immediates) {
  const std::vector<Row> rows = singles(integer_edges(32));
  expect_model({"add.u32 %d, %a, -1;", {"u32"}, {"u32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {low_bits(r[0] - 1, 32)}; });
  expect_model({"xor.b32 %d, %a, 0X1F79U;", {"b32"}, {"b32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] ^ 0x1f79}; });
  expect_model({"and.b32 %d, %a, 0xFfff0000;", {"b32"}, {"b32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] & 0xffff0000}; });
  expect_model({"mad.lo.s32 %d, %a, -3, 017;", {"s32"}, {"s32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {low_bits(r[0] * Bits(-3) + 15, 32)}; });
  expect_model({"add.s64 %d, %a, -4294967297;", {"s64"}, {"s64"}}, singles(integer_edges(64)),
               [](const Row& r) -> std::vector<Want> { return {r[0] - 4294967297}; });
}

}  // namespace
}  // namespace moe4::ptx::test
