// setp with every operator, both outputs and boolean combination; set, selp, slct.
#include <gtest/gtest.h>

#include <bit>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

enum class Order { kLess, kEqual, kGreater, kUnordered };

// True for the orders that an operator accepts. lo/ls/hi/hs are the unsigned spellings.
bool accepts(const std::string& op, Order order) {
  if (op == "num") return order != Order::kUnordered;
  if (op == "nan") return order == Order::kUnordered;
  static const struct {
    const char* name;
    bool less, equal, greater;
  } table[] = {{"eq", false, true, false}, {"ne", true, false, true},  {"lt", true, false, false},
               {"le", true, true, false},  {"gt", false, false, true}, {"ge", false, true, true},
               {"lo", true, false, false}, {"ls", true, true, false},  {"hi", false, false, true},
               {"hs", false, true, true}};
  const bool unordered_form = op.size() == 3;
  for (const auto& row : table)
    if (op.substr(0, 2) == row.name) {
      if (order == Order::kUnordered) return unordered_form;
      return order == Order::kLess ? row.less : order == Order::kEqual ? row.equal : row.greater;
    }
  ADD_FAILURE() << op;
  return false;
}

Order compare_integers(const std::string& type, Bits a, Bits b) {
  const int width = width_of(type);
  if (type[0] == 's') a ^= Bits{1} << (width - 1), b ^= Bits{1} << (width - 1);
  return a < b ? Order::kLess : a == b ? Order::kEqual : Order::kGreater;
}

Order compare_floats(const Format& f, Bits a, Bits b) {
  if (is_nan(f, a) || is_nan(f, b)) return Order::kUnordered;
  const Bits sign = Bits{1} << (f.bits - 1);
  const auto key = [sign](Bits bits) {  // ±0 alike
    const auto magnitude = static_cast<__int128>(bits & ~sign);
    return bits & sign ? -magnitude : magnitude;
  };
  return key(a) < key(b) ? Order::kLess : key(a) == key(b) ? Order::kEqual : Order::kGreater;
}

const std::vector<std::string> kFloatOperators = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                  "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

TEST(Compare, IntegerOperators) {
  for (const std::string type : {"s16", "u16", "b16", "s32", "u32", "b32", "s64", "u64", "b64"}) {
    const std::vector<Row> rows = pairs(integer_edges(width_of(type)), integer_edges(width_of(type)));
    for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}) {
      if (type[0] == 'b' && op != "eq" && op != "ne") continue;
      if (type[0] == 's' && (op[0] == 'h' || op == "lo" || op == "ls")) continue;
      expect_model(instruction("setp." + op + "." + type, "pred", {type, type}), rows,
                   [&](const Row& r) -> std::vector<Want> {
                     return {accepts(op, compare_integers(type, r[0], r[1]))};
                   });
    }
  }
}

TEST(Compare, FloatOperatorsOrderedAndUnordered) {
  const std::pair<const char*, Format> types[] = {
      {"f16", kF16}, {"bf16", kBf16}, {"f32", kF32}, {"f64", kF64}};
  for (const auto& [name, format] : types) {
    const Format f = format;
    const std::vector<Row> rows = join(pairs(float_edges(f), float_edges(f)), random_floats(41, 200, 2, f));
    for (const std::string& op : kFloatOperators)
      expect_model(
          instruction("setp." + op + "." + name, "pred", {name, name}), rows,
          [&](const Row& r) -> std::vector<Want> { return {accepts(op, compare_floats(f, r[0], r[1]))}; });
  }
}

TEST(Compare, FlushToZeroMakesSubnormalsEqual) {
  const std::vector<Row> rows = pairs(float_edges(kF32), float_edges(kF32));
  for (const std::string op : {"eq", "lt", "geu", "neu"})
    expect_model(instruction("setp." + op + ".ftz.f32", "pred", {"f32", "f32"}), rows,
                 [&](const Row& r) -> std::vector<Want> {
                   return {accepts(op, compare_floats(kF32, flush(kF32, r[0]), flush(kF32, r[1])))};
                 });
}

// p = (a op b) bool c, q = !(a op b) bool c; c may be negated.
TEST(Compare, BooleanCombinationAndBothOutputs) {
  const std::vector<Row> rows = triples({0, 1, 0xffffffff}, {0, 1}, {0, 1});
  for (const std::string combine : {"and", "or", "xor"})
    for (const bool negated : {false, true})
      expect_model({"setp.lt." + combine + ".s32 %d|%q, %a, %b, " + (negated ? "!" : "") + "%c;",
                    {"s32", "s32", "pred"},
                    {"pred", "pred"}},
                   rows, [&](const Row& r) -> std::vector<Want> {
                     const bool t = static_cast<std::int32_t>(r[0]) < static_cast<std::int32_t>(r[1]);
                     const bool c = (r[2] != 0) != negated;
                     const auto with = [&](bool x) {
                       return combine == "and" ? x && c : combine == "or" ? x || c : x != c;
                     };
                     return {with(t), with(!t)};
                   });
  expect_model({"setp.eq.f32 %d|%q, %a, %b;", {"f32", "f32"}, {"pred", "pred"}},
               pairs({0, 0x7fc00000}, {0, 0x80000000}), [](const Row& r) -> std::vector<Want> {
                 return {r[0] == 0, r[0] != 0};
               });
}

TEST(Compare, SetWritesAllOnesOrOne) {
  const std::vector<Row> rows = pairs(float_edges(kF32), {0, 0x3f800000, 0x7fc00000});
  for (const std::string op : {"eq", "lt", "geu", "nan"}) {
    expect_model(instruction("set." + op + ".u32.f32", "u32", {"f32", "f32"}), rows,
                 [&](const Row& r) -> std::vector<Want> {
                   return {accepts(op, compare_floats(kF32, r[0], r[1])) ? 0xffffffffu : 0u};
                 });
    expect_model(instruction("set." + op + ".f32.f32", "f32", {"f32", "f32"}), rows,
                 [&](const Row& r) -> std::vector<Want> {
                   return {accepts(op, compare_floats(kF32, r[0], r[1])) ? 0x3f800000u : 0u};
                 });
  }
  expect_model(
      instruction("set.gt.s32.s32", "s32", {"s32", "s32"}), pairs(integer_edges(32), integer_edges(32)),
      [](const Row& r) -> std::vector<Want> {
        return {static_cast<std::int32_t>(r[0]) > static_cast<std::int32_t>(r[1]) ? 0xffffffffu : 0u};
      });
}

TEST(Compare, PackedHalves) {
  const std::vector<Row> rows =
      pairs({0x3c004000, 0x7e00bc00, 0x80000000, 0x00017bff}, {0x3c003c00, 0x0000bc00, 0x00007e00});
  for (const std::string op : {"eq", "ltu", "ge"})
    expect_model({"setp." + op + ".f16x2 %d|%q, %a, %b;", {"b32", "b32"}, {"pred", "pred"}}, rows,
                 [&](const Row& r) -> std::vector<Want> {
                   return {accepts(op, compare_floats(kF16, r[0] & 0xffff, r[1] & 0xffff)),
                           accepts(op, compare_floats(kF16, r[0] >> 16, r[1] >> 16))};
                 });
}

TEST(Select, ByPredicate) {
  for (const std::string type :
       {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    const int width = width_of(type);
    std::vector<Row> rows;
    for (const Row& r : random_rows(5, 30, {width, width}))
      for (const Bits p : {0, 1}) rows.push_back({r[0], r[1], p});
    expect_model(instruction("selp." + type, type, {type, type, "pred"}), rows,
                 [](const Row& r) -> std::vector<Want> { return {r[2] ? r[0] : r[1]}; });
  }
}

// slct picks a when c >= 0; -0.0 counts as >= 0, NaN does not.
TEST(Select, BySign) {
  expect_model(instruction("slct.u32.s32", "u32", {"u32", "u32", "s32"}),
               triples({7}, {9}, integer_edges(32)),
               [](const Row& r) -> std::vector<Want> { return {r[2] >> 31 ? r[1] : r[0]}; });
  expect_model(instruction("slct.b64.f32", "b64", {"b64", "b64", "f32"}),
               triples({7}, {9}, float_edges(kF32)), [](const Row& r) -> std::vector<Want> {
                 const Order order = compare_floats(kF32, r[2], 0);
                 return {order == Order::kGreater || order == Order::kEqual ? r[0] : r[1]};
               });
}

}  // namespace
}  // namespace moe4::ptx::test
