// Instructions whose destination is one of their sources: every lane's operands are read before anything is
// written.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

std::vector<Row> lanes(Bits step) {
  std::vector<Row> rows;
  for (Bits i = 0; i < 32; ++i) rows.push_back({1000 + step * i});
  return rows;
}

TEST(Aliasing, ShuffleIntoItsSource) {
  const auto value = [](Bits lane) { return 1000 + 3 * lane; };
  for (const std::string form :
       {"shfl.sync.bfly.b32 %a, %a, 5, 31, -1;", "shfl.sync.bfly.b32 %a|%q, %a, 5, 31, -1;"})
    expect_model({"setp.eq.u32 %q, 0, 0;\n" + form + "\nmov.b32 %d, %a;", {"b32"}, {"b32", "pred"}}, lanes(3),
                 [&](const Row& r) -> std::vector<Want> {
                   return {value((r[0] - 1000) / 3 ^ 5), 1};
                 });
  expect_model({"shfl.sync.up.b32 %a, %a, 1, 0, -1;\nmov.b32 %d, %a;", {"b32"}, {"b32"}}, lanes(3),
               [&](const Row& r) -> std::vector<Want> { return {r[0] == 1000 ? r[0] : r[0] - 3}; });
  expect_model({"shfl.sync.down.b32 %a, %a, 1, 31, -1;\nmov.b32 %d, %a;", {"b32"}, {"b32"}}, lanes(3),
               [&](const Row& r) -> std::vector<Want> { return {r[0] == value(31) ? r[0] : r[0] + 3}; });
  // The lane index is overwritten by what it selects.
  expect_model({"{\n.reg .b32 i;\nmov.u32 i, %laneid;\nxor.b32 i, i, 31;\nshfl.sync.idx.b32 i, %a, i, 31, "
                "-1;\nmov.b32 %d, i;\n}",
                {"b32"},
                {"b32"}},
               lanes(3), [&](const Row& r) -> std::vector<Want> { return {value(31 - (r[0] - 1000) / 3)}; });
}

TEST(Aliasing, ReductionsIntoTheirSource) {
  expect_model({"redux.sync.add.u32 %a, %a, -1;\nmov.b32 %d, %a;", {"u32"}, {"u32"}}, lanes(3),
               [](const Row&) -> std::vector<Want> { return {32 * 1000 + 3 * 31 * 16}; });
  expect_model({"match.any.sync.b32 %a, %a, -1;\nmov.b32 %d, %a;", {"b32"}, {"b32"}}, lanes(3),
               [](const Row& r) -> std::vector<Want> { return {Bits{1} << (r[0] - 1000) / 3}; });
  expect_model(
      {"{\n.reg .pred p;\nsetp.eq.u32 p, %a, 1000;\nvote.sync.any.pred p, p, -1;\nselp.u32 %d, 1, 0, p;\n}",
       {"u32"},
       {"u32"}},
      lanes(3), [](const Row&) -> std::vector<Want> { return {1}; });
}

TEST(Aliasing, ScalarsInEverySourcePosition) {
  const std::vector<Row> rows = random_rows(71, 96, {32, 32, 32});
  const auto expect = [&](const std::string& text, const std::function<Bits(const Row&)>& model) {
    expect_model({text, {"b32", "b32", "b32"}, {"b32"}}, rows,
                 [&](const Row& r) -> std::vector<Want> { return {low_bits(model(r), 32)}; });
  };
  expect("mad.lo.u32 %a, %a, %b, %c; mov.b32 %d, %a;", [](const Row& r) { return r[0] * r[1] + r[2]; });
  expect("mad.lo.u32 %b, %a, %b, %c; mov.b32 %d, %b;", [](const Row& r) { return r[0] * r[1] + r[2]; });
  expect("mad.lo.u32 %c, %a, %b, %c; mov.b32 %d, %c;", [](const Row& r) { return r[0] * r[1] + r[2]; });
  expect("mad.lo.u32 %a, %a, %a, %a; mov.b32 %d, %a;", [](const Row& r) { return r[0] * r[0] + r[0]; });
  expect("prmt.b32 %c, %a, %b, %c; and.b32 %d, %c, 0;", [](const Row&) { return 0; });
  expect("prmt.b32 %a, %a, %b, 0x1276; mov.b32 %d, %a;", [](const Row& r) {
    const Bits both = r[1] << 32 | r[0];
    return (both >> 8 & 0xff) << 24 | (both >> 16 & 0xff) << 16 | (both >> 56 & 0xff) << 8 |
           (both >> 48 & 0xff);
  });
  expect("bfi.b32 %a, %a, %b, 8, 8; mov.b32 %d, %a;",
         [](const Row& r) { return (r[1] & ~Bits{0xff00}) | (r[0] & 0xff) << 8; });
  expect("shf.l.wrap.b32 %b, %a, %b, 4; mov.b32 %d, %b;",
         [](const Row& r) { return r[1] << 4 | r[0] >> 28; });
  expect("lop3.b32 %b, %a, %b, %c, 0x96; mov.b32 %d, %b;", [](const Row& r) { return r[0] ^ r[1] ^ r[2]; });
  expect("sub.u32 %b, %a, %b; mov.b32 %d, %b;", [](const Row& r) { return r[0] - r[1]; });
}

TEST(Aliasing, PairsAndVectors) {
  const std::vector<Row> rows = random_rows(72, 96, {32, 32});
  // Swap through a pack and an unpack of the same registers.
  expect_model(
      {"{\n.reg .b64 w;\nmov.b64 w, {%b, %a};\nmov.b64 {%a, %b}, w;\nmov.b32 %d, %a;\nmov.b32 %q, %b;\n}",
       {"b32", "b32"},
       {"b32", "b32"}},
      rows, [](const Row& r) -> std::vector<Want> {
        return {r[1], r[0]};
      });
  expect_model({"{\n.reg .b16 l, h;\nmov.b32 {l, h}, %a;\nmov.b32 %a, {h, l};\nmov.b32 %d, %a;\n}",
                {"b32", "b32"},
                {"b32"}},
               rows,
               [](const Row& r) -> std::vector<Want> { return {low_bits(r[0] << 16 | r[0] >> 16, 32)}; });
  expect_model({"{\n.reg .pred p, q;\nsetp.lt.u32 p, %a, %b;\nsetp.eq.and.u32 p|q, %a, %b, p;\nselp.u32 %d, "
                "1, 0, p;\nselp.u32 %q, 1, 0, q;\n}",
                {"b32", "b32"},
                {"b32", "b32"}},
               rows, [](const Row& r) -> std::vector<Want> {
                 return {r[0] == r[1] && r[0] < r[1], r[0] != r[1] && r[0] < r[1]};
               });
}

TEST(Aliasing, LoadOverItsOwnAddress) {
  std::vector<std::uint64_t> source = {11, 22, 33, 44, 55, 66};
  const std::string text = kernel(".param .u64 in, .param .u64 out", R"(
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
mov.u64 %rd3, %rd1; ld.global.v2.u64 {%rd3, %rd4}, [%rd3]; st.global.v2.u64 [%rd2], {%rd3, %rd4};
mov.u64 %rd5, %rd1; ld.global.v2.u64 {%rd6, %rd5}, [%rd5+16]; st.global.v2.u64 [%rd2+16], {%rd5, %rd6};
mov.u64 %rd7, %rd1; ld.global.u64 %rd7, [%rd7+32]; st.global.u64 [%rd2+32], %rd7;
ret;)");
  Memory memory;
  const std::uint64_t in = memory.add_input("in", std::as_bytes(std::span(source))),
                      out = memory.add_output("out", 40);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(in).u64(out)));
  EXPECT_EQ(read_all<std::uint64_t>(memory, out, 5), (std::vector<std::uint64_t>{11, 22, 44, 33, 55}));
}

TEST(Aliasing, PredicateThatGuardsItsOwnChange) {
  expect_model({"@%b setp.eq.u32 %b, %a, 7;\nselp.u32 %d, 1, 0, %b;", {"u32", "pred"}, {"u32"}},
               pairs({7, 8}, {0, 1}), [](const Row& r) -> std::vector<Want> { return {r[1] && r[0] == 7}; });
}

// Many values alive at once, written before and read after a divergent region that uses as many itself.
TEST(Aliasing, ValuesSurviveADivergentRegion) {
  constexpr int kMany = 40;
  std::string text = "{\n.reg .pred p;\n.reg .b32 v<40>, w<40>, t;\nand.b32 t, %a, 1; setp.eq.u32 p, t, 1;\n";
  for (int i = 0; i < kMany; ++i)
    text += "add.u32 v" + std::to_string(i) + ", %a, " + std::to_string(i * i) + ";\n";
  text += "@p bra ODD;\nmov.u32 t, 0;\nbra JOIN;\nODD:\n";
  for (int i = 0; i < kMany; ++i)
    text += "mul.lo.u32 w" + std::to_string(i) + ", %a, " + std::to_string(i + 3) + ";\n";
  text += "mov.u32 t, 0;\n";
  for (int i = 0; i < kMany; ++i) text += "xor.b32 t, t, w" + std::to_string(i) + ";\n";
  text += "JOIN:\nmov.u32 %d, t;\n";
  for (int i = 0; i < kMany; ++i) text += "mad.lo.u32 %d, %d, 31, v" + std::to_string(i) + ";\n";
  text += "}";
  std::vector<Row> rows;
  for (Bits i = 0; i < 64; ++i) rows.push_back({i * 7 + i % 2});
  expect_model({text, {"u32"}, {"u32"}}, rows, [](const Row& r) -> std::vector<Want> {
    std::uint32_t t = 0;
    const auto a = static_cast<std::uint32_t>(r[0]);
    if (a & 1)
      for (std::uint32_t i = 0; i < kMany; ++i) t ^= a * (i + 3);
    for (std::uint32_t i = 0; i < kMany; ++i) t = t * 31 + a + i * i;
    return {t};
  });
}

}  // namespace
}  // namespace moe4::ptx::test
