// Predication, branches and divergence: every lane must see exactly its own path.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

std::vector<Row> first_numbers(Bits n) {
  std::vector<Row> rows;
  for (Bits i = 0; i < n; ++i) rows.push_back({i});
  return rows;
}

TEST(Control, PredicatedInstructions) {
  const std::vector<Row> rows = pairs({0, 5, 0xffffffff}, {0, 1});
  expect_model({"mov.u32 %d, 1;\n@%b add.u32 %d, %a, 10;\n@!%b sub.u32 %d, %a, 3;", {"u32", "pred"}, {"u32"}},
               rows,
               [](const Row& r) -> std::vector<Want> { return {low_bits(r[1] ? r[0] + 10 : r[0] - 3, 32)}; });
  expect_model({"mov.u32 %d, %a; @!%b not.b32 %d, %d;", {"u32", "pred"}, {"u32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {r[1] ? r[0] : low_bits(~r[0], 32)}; });
}

TEST(Control, IfElse) {
  expect_model({R"({
.reg .pred odd; .reg .u32 x;
and.b32 x, %a, 1; setp.eq.u32 odd, x, 1;
@odd bra ODD;
mul.lo.u32 %d, %a, 100;
bra.uni JOIN;
ODD:
add.u32 %d, %a, 7;
JOIN:
add.u32 %d, %d, 1;
})",
                {"u32"},
                {"u32"}},
               first_numbers(130),
               [](const Row& r) -> std::vector<Want> { return {(r[0] % 2 ? r[0] + 7 : r[0] * 100) + 1}; });
}

TEST(Control, NestedBranches) {
  expect_model({R"({
.reg .pred p, q; .reg .u32 x;
mov.u32 %d, 0;
and.b32 x, %a, 1; setp.ne.u32 p, x, 0;
@!p bra EVEN;
and.b32 x, %a, 2; setp.ne.u32 q, x, 0;
@q bra ODD_TWO;
or.b32 %d, %d, 1;
bra ODD_JOIN;
ODD_TWO:
or.b32 %d, %d, 2;
ODD_JOIN:
or.b32 %d, %d, 4;
bra JOIN;
EVEN:
and.b32 x, %a, 4; setp.ne.u32 q, x, 0;
@!q bra EVEN_JOIN;
or.b32 %d, %d, 8;
EVEN_JOIN:
or.b32 %d, %d, 16;
JOIN:
or.b32 %d, %d, 32;
})",
                {"u32"},
                {"u32"}},
               first_numbers(64), [](const Row& r) -> std::vector<Want> {
                 const Bits a = r[0];
                 return {a & 1 ? (a & 2 ? 2u : 1u) | 4 | 32 : (a & 4 ? 8u : 0u) | 16 | 32};
               });
}

TEST(Control, LoopsWithTripCountsOfTheirOwn) {
  expect_model({R"({
.reg .pred more; .reg .u32 i;
mov.u32 %d, 0; mov.u32 i, 0;
TEST_:
setp.lt.u32 more, i, %a;
@!more bra DONE;
mad.lo.u32 %d, %d, 3, i;
add.u32 i, i, 1;
bra TEST_;
DONE:
})",
                {"u32"},
                {"u32"}},
               first_numbers(100), [](const Row& r) -> std::vector<Want> {
                 std::uint32_t d = 0;
                 for (std::uint32_t i = 0; i < r[0]; ++i) d = d * 3 + i;
                 return {d};
               });
}

TEST(Control, NestedLoopsWithBreakAndContinue) {
  expect_model({R"({
.reg .pred p; .reg .u32 i, j, x;
mov.u32 %d, 0; mov.u32 i, 0;
OUTER:
setp.ge.u32 p, i, 8; @p bra OUT;
mov.u32 j, 0;
INNER:
setp.gt.u32 p, j, i; @p bra NEXT;
add.u32 x, i, j; add.u32 j, j, 1;
and.b32 x, x, 1; setp.eq.u32 p, x, 1; @p bra INNER;
add.u32 %d, %d, j;
setp.gt.u32 p, %d, %a; @p bra OUT;
bra INNER;
NEXT:
add.u32 i, i, 1;
bra OUTER;
OUT:
})",
                {"u32"},
                {"u32"}},
               first_numbers(90), [](const Row& r) -> std::vector<Want> {
                 std::uint32_t d = 0;
                 for (std::uint32_t i = 0; i < 8; ++i)
                   for (std::uint32_t j = 0; j <= i;) {
                     const bool odd = (i + j++) & 1;
                     if (odd) continue;
                     d += j;
                     if (d > r[0]) return {d};
                   }
                 return {d};
               });
}

// A branch into the body of a loop: not reducible, still each lane's own path.
TEST(Control, JumpIntoALoop) {
  expect_model({R"({
.reg .pred p; .reg .u32 i;
mov.u32 %d, 0; mov.u32 i, 0;
and.b32 %d, %a, 1; setp.eq.u32 p, %d, 1; mov.u32 %d, 0;
@p bra MIDDLE;
TOP:
add.u32 %d, %d, 1;
MIDDLE:
add.u32 %d, %d, 100;
add.u32 i, i, 1;
setp.lt.u32 p, i, %a; @p bra TOP;
})",
                {"u32"},
                {"u32"}},
               first_numbers(70), [](const Row& r) -> std::vector<Want> {
                 const Bits trips = std::max<Bits>(r[0], 1);
                 return {trips * 101 - (r[0] & 1)};
               });
}

TEST(Control, EarlyExitOfSomeLanes) {
  const std::string text = kernel(".param .u64 out", R"(
mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; ld.param.u64 %rd1, [out]; add.u64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; @%p1 exit;
setp.eq.u32 %p1, %r2, 1; @%p1 ret;
add.u32 %r3, %r1, 1000; st.global.u32 [%rd1], %r3;
setp.eq.u32 %p1, %r2, 2; @%p1 bra OUT;
add.u32 %r3, %r1, 2000; st.global.u32 [%rd1], %r3;
OUT:
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 4 * 70);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {70, 1, 1}, Arguments().u64(out)));
  const auto values = read_all<std::uint32_t>(memory, out, 70);
  for (std::uint32_t i = 0; i < 70; ++i)
    EXPECT_EQ(values[i], i + (i % 4 < 2 ? 0 : i % 4 == 2 ? 1000 : 2000)) << i;
}

TEST(Control, FallingOffTheEndExits) {
  const std::string text = module_header() +
                           ".visible .entry kernel(.param .u64 out)\n{\n.reg .b64 %rd<3>;\nld.param.u64 "
                           "%rd1, [out];\nst.global.u32 [%rd1], 5;\n}\n";
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 4);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out)));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 5u);
}

TEST(Control, IndirectBranch) {
  expect_model({R"({
.reg .u32 x;
and.b32 x, %a, 3;
TARGETS: .branchtargets
  L0, L1,
  L2, L3;
brx.idx x, TARGETS;
L0: mov.u32 %d, 10; bra JOIN;
L1: mov.u32 %d, 21; bra JOIN;
L2: mov.u32 %d, 32; bra JOIN;
L3: mov.u32 %d, 43;
JOIN:
add.u32 %d, %d, %a;
})",
                {"u32"},
                {"u32"}},
               first_numbers(64), [](const Row& r) -> std::vector<Want> {
                 const Bits base[] = {10, 21, 32, 43};
                 return {base[r[0] & 3] + r[0]};
               });
}

// Lanes meet again after a branch: a warp-wide instruction after the join sees all of them.
TEST(Control, Reconvergence) {
  expect_model({R"({
.reg .pred p; .reg .u32 x;
and.b32 x, %a, 1; setp.eq.u32 p, x, 0;
mov.u32 x, 5;
@p bra JOIN;
mov.u32 x, 9;
JOIN:
vote.sync.ballot.b32 %d, p, 0xffffffff;
add.u32 %q, x, 0;
})",
                {"u32"},
                {"u32", "u32"}},
               first_numbers(64), [](const Row& r) -> std::vector<Want> {
                 return {0x55555555u, r[0] & 1 ? 9u : 5u};
               });
}

// Two lanes spin on each other's progress: independent lanes must all advance.
TEST(Control, LanesThatWaitForEachOther) {
  const std::string text = kernel(".param .u64 flag, .param .u64 out", R"(
ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out];
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
@!%p1 bra SIGNAL;
WAIT:
atom.acquire.gpu.global.add.u32 %r2, [%rd1], 0;
setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
bra DONE;
SIGNAL:
atom.release.gpu.global.add.u32 %r2, [%rd1], 1;
DONE:
mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], 1;
ret;)");
  Memory memory;
  const std::uint64_t flag = memory.add_zeroed("flag", 4), out = memory.add_output("out", 8);
  Options options;
  options.instruction_budget = 1000000;
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {2, 1, 1}, Arguments().u64(flag).u64(out), options));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 2), (std::vector<std::uint32_t>{1, 1}));
}

}  // namespace
}  // namespace moe4::ptx::test
