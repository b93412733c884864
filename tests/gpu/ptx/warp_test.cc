// Instructions across lanes, block barriers, and special registers.
#include <gtest/gtest.h>

#include <bit>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

constexpr int kLanes = 32;

// The ISA's formulas: source lane and in-range predicate of shfl for one lane.
std::pair<int, bool> shuffle_source(const std::string& mode, int lane, Bits b, Bits c) {
  const int segment = static_cast<int>(c >> 8 & 31), clamp = static_cast<int>(c & 31),
            amount = static_cast<int>(b & 31);
  const int highest = (lane & segment) | (clamp & ~segment & 31), lowest = lane & segment;
  int source = 0;
  bool inside = false;
  if (mode == "up") source = lane - amount, inside = source >= highest;
  if (mode == "down") source = lane + amount, inside = source <= highest;
  if (mode == "bfly") source = lane ^ amount, inside = source <= highest;
  if (mode == "idx") source = lowest | (amount & ~segment & 31), inside = source <= highest;
  return {inside ? source : lane, inside};
}

TEST(Shuffle, AllModesWithPredicate) {
  for (const std::string mode : {"up", "down", "bfly", "idx"})
    for (const Bits width : {32, 16, 8, 1})
      for (const Bits amount : {0, 1, 3, 8, 16, 31, 33}) {
        const Bits c = (32 - width) << 8 | (mode == "up" ? 0 : 31);
        std::vector<Row> rows;
        for (Bits i = 0; i < 2 * kLanes; ++i) rows.push_back({1000 + 7 * i, amount, c, i % kLanes});
        expect_model({"shfl.sync." + mode + ".b32 %d|%q, %a, %b, %c, 0xffffffff;",
                      {"b32", "b32", "b32", "b32"},
                      {"b32", "pred"}},
                     rows, [&](const Row& r) -> std::vector<Want> {
                       const auto [source, inside] = shuffle_source(mode, static_cast<int>(r[3]), r[1], r[2]);
                       return {r[0] + Bits(7) * static_cast<Bits>(source) - 7 * r[3], inside};
                     });
      }
}

TEST(Shuffle, IndexOfEachLaneItsOwnAndNoPredicate) {
  std::vector<Row> rows;
  for (Bits i = 0; i < kLanes; ++i) rows.push_back({i * i, (i * 11 + 3) % 32});
  expect_model({"shfl.sync.idx.b32 %d, %a, %b, 31, -1;", {"b32", "b32"}, {"b32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {r[1] * r[1]}; });
}

TEST(Shuffle, HalfAWarp) {
  std::vector<Row> rows;
  for (Bits i = 0; i < kLanes; ++i) rows.push_back({i, i < 16});
  expect_model(
      {"mov.u32 %d, 99;\n@%b shfl.sync.bfly.b32 %d, %a, 1, 0x1f, 0x0000ffff;", {"b32", "pred"}, {"b32"}},
      rows, [](const Row& r) -> std::vector<Want> { return {r[1] ? r[0] ^ 1 : 99}; });
}

// Each half of a warp shuffles, votes and meets at a warp barrier among itself, in a branch of its own and a
// different number of times.
TEST(Shuffle, DivergentHalvesWithMasksOfTheirOwn) {
  std::vector<Row> rows;
  for (Bits i = 0; i < kLanes; ++i) rows.push_back({i + 1});
  expect_model({R"({
.reg .pred p, q; .reg .b32 t, mask, n;
mov.u32 t, %laneid; setp.lt.u32 p, t, 16; mov.u32 %d, %a; mov.u32 n, 0;
@p bra LOW;
mov.u32 mask, 0xffff0000;
UP:
shfl.sync.idx.b32 t, %d, 31, 31, mask; add.u32 %d, %d, t; add.u32 n, n, 1; bar.warp.sync mask;
setp.lt.u32 q, n, 3; @q bra UP;
bra JOIN;
LOW:
mov.u32 mask, 0x0000ffff;
DOWN:
shfl.sync.bfly.b32 t, %d, 8, 31, mask; add.u32 %d, %d, t; add.u32 n, n, 1;
setp.eq.u32 q, n, 5; vote.sync.all.pred q, q, mask; @!q bra DOWN;
JOIN:
shfl.sync.bfly.b32 %q, %d, 16, 31, -1;
})",
                {"u32"},
                {"u32", "u32"}},
               rows, [](const Row& r) -> std::vector<Want> {
                 const auto one = [](Bits lane) -> Bits {
                   if (lane < 16)
                     return (lane + 1 + (lane ^ 8) + 1) << 4;  // the pair sums once, then doubles four times
                   Bits own = lane + 1, last = 32;
                   for (int i = 0; i < 3; ++i) own += last, last += last;
                   return lane == 31 ? 256 : own;
                 };
                 const Bits lane = r[0] - 1;
                 return {one(lane), one(lane ^ 16)};
               });
}

TEST(Vote, AllAnyUniBallot) {
  for (const Bits pattern :
       {Bits{0}, Bits{0xffffffff}, Bits{0x00010000}, Bits{0x7fffffff}, Bits{0xa5a5a5a5}}) {
    std::vector<Row> rows;
    for (Bits i = 0; i < kLanes; ++i) rows.push_back({pattern >> i & 1});
    const auto every = [&](const char* name, Bits want) {
      expect_model({std::string("vote.sync.") + name + ".pred %d, %a, 0xffffffff;", {"pred"}, {"pred"}}, rows,
                   [want](const Row&) -> std::vector<Want> { return {want}; });
    };
    every("all", pattern == 0xffffffff);
    every("any", pattern != 0);
    every("uni", pattern == 0 || pattern == 0xffffffff);
    expect_model({"vote.sync.ballot.b32 %d, %a, 0xffffffff;", {"pred"}, {"b32"}}, rows,
                 [&](const Row&) -> std::vector<Want> { return {pattern}; });
    expect_model({"vote.sync.ballot.b32 %d, !%a, 0xffffffff;", {"pred"}, {"b32"}}, rows,
                 [&](const Row&) -> std::vector<Want> { return {~pattern & 0xffffffff}; });
  }
}

TEST(Vote, LanesOutsideTheMaskVoteZero) {
  std::vector<Row> rows;
  for (Bits i = 0; i < kLanes; ++i) rows.push_back({i % 3 == 0});
  expect_model({"mov.u32 %d, 0;\n@%a vote.sync.ballot.b32 %d, 1, 0x49249249;", {"pred"}, {"b32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] ? 0x49249249u : 0u}; });
  expect_model({"mov.u32 %d, 0;\n@%a activemask.b32 %d;", {"pred"}, {"b32"}}, rows,
               [](const Row& r) -> std::vector<Want> { return {r[0] ? 0x49249249u : 0u}; });
}

TEST(Match, AnyAndAll) {
  std::vector<Row> rows;
  for (Bits i = 0; i < kLanes; ++i) rows.push_back({i % 5});
  expect_model({"match.any.sync.b32 %d, %a, 0xffffffff;", {"b32"}, {"b32"}}, rows,
               [](const Row& r) -> std::vector<Want> {
                 Bits mask = 0;
                 for (Bits i = 0; i < kLanes; ++i) mask |= Bits{i % 5 == r[0]} << i;
                 return {mask};
               });
  expect_model({"match.all.sync.b32 %d|%q, %a, 0xffffffff;", {"b32"}, {"b32", "pred"}}, rows,
               [](const Row&) -> std::vector<Want> {
                 return {0, 0};
               });
  std::vector<Row> same(kLanes, Row{0x1234567890abcdef});
  expect_model({"match.all.sync.b64 %d|%q, %a, 0xffffffff;", {"b64"}, {"b32", "pred"}}, same,
               [](const Row&) -> std::vector<Want> {
                 return {0xffffffff, 1};
               });
  expect_model({"match.any.sync.b64 %d, %a, 0xffffffff;", {"b64"}, {"b32"}}, same,
               [](const Row&) -> std::vector<Want> { return {0xffffffff}; });
}

TEST(Redux, EveryOperation) {
  const std::vector<Row> rows = random_rows(61, kLanes, {32});
  const auto reduce = [&](auto f) {
    Bits total = rows[0][0];
    for (std::size_t i = 1; i < rows.size(); ++i) total = low_bits(f(total, rows[i][0]), 32);
    return total;
  };
  const auto expect_all = [&](const std::string& op, const std::string& type, Bits want) {
    expect_model({"redux.sync." + op + "." + type + " %d, %a, 0xffffffff;", {type}, {type}}, rows,
                 [want](const Row&) -> std::vector<Want> { return {want}; });
  };
  const auto s = [](Bits v) { return static_cast<std::int32_t>(v); };
  expect_all("add", "u32", reduce([](Bits a, Bits b) { return a + b; }));
  expect_all("add", "s32", reduce([](Bits a, Bits b) { return a + b; }));
  expect_all("min", "u32", reduce([](Bits a, Bits b) { return std::min(a, b); }));
  expect_all("max", "u32", reduce([](Bits a, Bits b) { return std::max(a, b); }));
  expect_all("min", "s32", reduce([&](Bits a, Bits b) { return s(a) < s(b) ? a : b; }));
  expect_all("max", "s32", reduce([&](Bits a, Bits b) { return s(a) > s(b) ? a : b; }));
  expect_all("and", "b32", reduce([](Bits a, Bits b) { return a & b; }));
  expect_all("or", "b32", reduce([](Bits a, Bits b) { return a | b; }));
  expect_all("xor", "b32", reduce([](Bits a, Bits b) { return a ^ b; }));
}

TEST(Elect, OneLaneOfTheMask) {
  std::vector<Row> rows(kLanes, Row{0});
  const auto result = evaluate({"elect.sync %d|%q, 0xffffffff;", {"b32"}, {"b32", "pred"}}, rows);
  ASSERT_EQ(result.size(), rows.size());
  int elected = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    elected += result[i][1] == 1;
    EXPECT_EQ(result[i][1] == 1, result[i][0] == i);
    EXPECT_EQ(result[i][0], result[0][0]);
  }
  EXPECT_EQ(elected, 1);
}

TEST(SpecialRegisters, LaneMasks) {
  std::vector<Row> rows;
  for (Bits i = 0; i < 64; ++i) rows.push_back({i % 32});
  const auto one = [&](const std::string& name, std::function<Bits(Bits)> want) {
    expect_model({"mov.u32 %d, %" + name + ";", {"u32"}, {"u32"}}, rows,
                 [&](const Row& r) -> std::vector<Want> { return {low_bits(want(r[0]), 32)}; });
  };
  one("laneid", [](Bits i) { return i; });
  one("lanemask_eq", [](Bits i) { return Bits{1} << i; });
  one("lanemask_lt", [](Bits i) { return (Bits{1} << i) - 1; });
  one("lanemask_le", [](Bits i) { return (Bits{2} << i) - 1; });
  one("lanemask_gt", [](Bits i) { return ~((Bits{2} << i) - 1); });
  one("lanemask_ge", [](Bits i) { return ~((Bits{1} << i) - 1); });
  one("ntid.x", [](Bits) { return 64; });
  expect_model({"mov.u32 %d, WARP_SZ;", {"u32"}, {"u32"}}, rows,
               [](const Row&) -> std::vector<Want> { return {32}; });
}

TEST(SpecialRegisters, ClockNeverRunsBack) {
  const auto result =
      evaluate({"mov.u64 %d, %clock64;\nmov.u64 %q, %clock64;", {"u32"}, {"u64", "u64"}}, {{0}});
  ASSERT_EQ(result.size(), 1u);
  EXPECT_LE(result[0][0], result[0][1]);
}

TEST(Geometry, ThreeDimensionsOfGridAndBlock) {
  const std::string text = kernel(".param .u64 out", R"(
mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;
mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %ctaid.z;
mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y; mov.u32 %r12, %nctaid.z; mov.u32 %r13, %laneid;
mad.lo.u32 %r14, %r3, %r5, %r2; mad.lo.u32 %r14, %r14, %r4, %r1;
mad.lo.u32 %r15, %r9, %r11, %r8; mad.lo.u32 %r15, %r15, %r10, %r7;
mul.lo.u32 %r16, %r4, %r5; mul.lo.u32 %r16, %r16, %r6; mad.lo.u32 %r17, %r15, %r16, %r14;
ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r17, 32; add.u64 %rd1, %rd1, %rd2;
st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r13}; st.global.v4.u32 [%rd1+16], {%r7, %r8, %r9, %r12};
ret;)");
  const Dim3 grid{3, 2, 4}, block{5, 3, 7};
  const std::uint32_t threads = 5 * 3 * 7, blocks = 3 * 2 * 4;
  Memory memory;
  const std::uint64_t out = memory.add_output("out", std::uint64_t{32} * threads * blocks);
  expect_clean(run(parse_valid(text), memory, grid, block, Arguments().u64(out)));
  const auto v = read_all<std::uint32_t>(memory, out, std::size_t{8} * threads * blocks);
  for (std::uint32_t b = 0; b < blocks; ++b)
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::uint32_t* got = &v[8 * (b * threads + t)];
      const std::uint32_t want[] = {t % 5, t / 5 % 3, t / 15, t % 32, b % 3, b / 3 % 2, b / 6, 4};
      for (int i = 0; i < 8; ++i)
        ASSERT_EQ(got[i], want[i]) << "block " << b << " thread " << t << " word " << i;
    }
}

// Block sizes that are no multiple of 32 take part in barriers and leave no lane behind.
TEST(Barrier, OddBlockSizesExchangeThroughSharedMemory) {
  const std::string text = kernel(".param .u64 out", R"(
.shared .align 4 .b8 tile[4096];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r9, tile;
mad.lo.u32 %r3, %r1, 4, %r9; mul.lo.u32 %r4, %r1, %r1; st.shared.u32 [%r3], %r4;
bar.sync 0;
sub.u32 %r5, %r2, %r1; sub.u32 %r5, %r5, 1; mad.lo.u32 %r6, %r5, 4, %r9; ld.shared.u32 %r7, [%r6];
ld.param.u64 %rd1, [out]; mov.u32 %r8, %ctaid.x; mad.lo.u32 %r8, %r8, %r2, %r1; mul.wide.u32 %rd2, %r8, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r7;
ret;)");
  const Module module = parse_valid(text);
  for (const std::uint32_t n : {1u, 2u, 31u, 33u, 63u, 65u, 127u, 1000u, 1023u, 1024u}) {
    Memory memory;
    const std::uint64_t out = memory.add_output("out", std::uint64_t{8} * n);
    const LaunchReport report = run(module, memory, {2, 1, 1}, {n, 1, 1}, Arguments().u64(out));
    expect_clean(report);
    EXPECT_GT(report.counters.barriers, 0u);
    const auto values = read_all<std::uint32_t>(memory, out, 2 * n);
    for (std::uint32_t i = 0; i < 2 * n; ++i) ASSERT_EQ(values[i], (n - 1 - i % n) * (n - 1 - i % n)) << n;
  }
}

TEST(Barrier, Reductions) {
  const std::string text = kernel(".param .u64 out", R"(
mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; setp.lt.u32 %p2, %r1, 1000; setp.gt.u32 %p3, %r1, 1000;
bar.red.popc.u32 %r3, 0, %p1;
bar.red.and.pred %p4, 0, %p2; bar.red.and.pred %p5, 0, %p1; bar.red.or.pred %p6, 0, %p1; bar.red.or.pred %p7, 1, !%p2;
selp.u32 %r4, 1, 0, %p4; selp.u32 %r5, 2, 0, %p5; selp.u32 %r6, 4, 0, %p6; selp.u32 %r7, 8, 0, %p7;
or.b32 %r4, %r4, %r5; or.b32 %r4, %r4, %r6; or.b32 %r4, %r4, %r7;
ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 8; add.u64 %rd1, %rd1, %rd2; st.global.v2.u32 [%rd1], {%r3, %r4};
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 8 * 100);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {100, 1, 1}, Arguments().u64(out)));
  const auto values = read_all<std::uint32_t>(memory, out, 200);
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(values[2 * i], 34u);
    ASSERT_EQ(values[2 * i + 1], 5u);
  }
}

// A producer warp arrives at a named barrier, a consumer warp waits at it; barrier numbers may be in
// registers.
TEST(Barrier, NamedWithCountsAndArrive) {
  const std::string text = kernel(".param .u64 out", R"(
.shared .align 4 .b8 tile[128];
mov.u32 %r1, %tid.x; mov.u32 %r9, tile; and.b32 %r2, %r1, 31; mad.lo.u32 %r3, %r2, 4, %r9;
mov.u32 %r10, 3;
setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUMER;
add.u32 %r4, %r1, 500; st.shared.u32 [%r3], %r4;
bar.arrive %r10, 64;
ret;
CONSUMER:
bar.sync %r10, 64;
xor.b32 %r5, %r2, 31; mad.lo.u32 %r6, %r5, 4, %r9; ld.shared.u32 %r7, [%r6];
ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r7;
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 128);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(out)));
  const auto values = read_all<std::uint32_t>(memory, out, 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(values[i], 531 - i);
}

}  // namespace
}  // namespace moe4::ptx::test
