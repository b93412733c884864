// Loads and stores: widths, vectors, extension into wider registers, every state space and generic addresses.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

std::vector<std::uint8_t> pattern(std::size_t n) {
  std::vector<std::uint8_t> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + 0x85);
  return bytes;
}

// One thread copies through the body from `in` (%rd1) to `out` (%rd2).
std::vector<std::uint8_t> copied(const std::string& body, std::size_t out_bytes,
                                 const std::string& directives = "") {
  const std::string text =
      kernel(".param .u64 in, .param .u64 out",
             "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n" + body + "\nret;", directives);
  const std::vector<std::uint8_t> source = pattern(256);
  Memory memory;
  const std::uint64_t in = memory.add_input("in", std::as_bytes(std::span(source)));
  const std::uint64_t out = memory.add_zeroed("out", out_bytes);
  const LaunchReport report =
      run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(in).u64(out));
  EXPECT_FALSE(report.error || !report.findings.empty() || !report.completed) << body << "\n"
                                                                              << describe(report);
  return read_all<std::uint8_t>(memory, out, out_bytes);
}

std::uint64_t little_endian(const std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes.at(at + i)} << (8 * i);
  return value;
}

TEST(LoadStore, ScalarsExtendIntoWiderRegisters) {
  const auto source = pattern(256);
  for (const std::string type :
       {"b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"})
    for (const std::string reg : {"%h1", "%r1", "%rd3"}) {
      const int width = width_of(type), into = reg == "%h1" ? 16 : reg == "%r1" ? 32 : 64;
      if (into < width || (type[0] == 'f' && into != width)) continue;
      for (const int at : {0, 8, 16, 24}) {  // the pattern has both signs at these places
        const std::string size = std::to_string(into);
        const auto out = copied("ld.global." + type + " " + reg + ", [%rd1+" + std::to_string(at) +
                                    "];\nst.global.b" + size + " [%rd2], " + reg + ";",
                                8);
        const std::uint64_t raw =
            little_endian(source, static_cast<std::size_t>(at), static_cast<std::size_t>(width / 8));
        const bool negative = type[0] == 's' && raw >> (width - 1);
        const std::uint64_t extended = negative && width < 64 ? raw | ~std::uint64_t{0} << width : raw;
        EXPECT_EQ(little_endian(out, 0, 8), low_bits(extended, into))
            << type << " into " << reg << " at " << at;
      }
    }
}

TEST(LoadStore, StoresTruncate) {
  const auto out = copied(
      "mov.b64 %rd3, 0x8877665544332211;\nmov.b32 %r1, 0xddccbbaa;\nmov.b16 %h1, 0x9f8e;\n"
      "st.global.u8 [%rd2], %rd3;\nst.global.u8 [%rd2+1], %r1;\nst.global.s8 [%rd2+2], %h1;\n"
      "st.global.u16 [%rd2+4], %rd3;\nst.global.b16 [%rd2+6], %r1;\nst.global.u32 [%rd2+8], "
      "%rd3;\nst.global.b64 [%rd2+16], %rd3;",
      24);
  EXPECT_EQ(out,
            (std::vector<std::uint8_t>{0x11, 0xaa, 0x8e, 0, 0x11, 0x22, 0xaa, 0xbb, 0x11, 0x22, 0x33, 0x44,
                                       0,    0,    0,    0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}));
}

TEST(LoadStore, Vectors) {
  const auto source = pattern(256);
  const struct {
    const char *vector, *type, *registers;
    std::size_t bytes;
  } forms[] = {{"v2", "u8", "{%h1, %h2}", 2},     {"v4", "u8", "{%h1,%h2,%h3,%h4}", 4},
               {"v2", "u16", "{%h1, %h2}", 4},    {"v4", "b16", "{%h1, %h2, %h3, %h4}", 8},
               {"v2", "f32", "{%f1, %f2}", 8},    {"v4", "f32", "{ %f1, %f2, %f3, %f4 }", 16},
               {"v2", "u32", "{%r1, %r2}", 8},    {"v4", "b32", "{%r4, %r3, %r2, %r1}", 16},
               {"v2", "u64", "{%rd3, %rd4}", 16}, {"v2", "f64", "{%fd1, %fd2}", 16}};
  for (const auto& f : forms) {
    const std::string what = std::string(".") + f.vector + "." + f.type + " ";
    for (const char* load :
         {"ld.global", "ld.global.nc", "ld.volatile.global", "ld.global.ca", "ld.global.L2::128B"}) {
      if (std::string(load) == "ld.global.L2::128B" && f.bytes < 4) continue;
      const auto out = copied(std::string(load) + what + f.registers + ", [%rd1+16];\nst.global" + what +
                                  "[%rd2], " + f.registers + ";",
                              f.bytes);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), source.begin() + 16)) << load << what;
    }
  }
}

TEST(LoadStore, VectorsWithSinksAndImmediates) {
  const auto source = pattern(256);
  const auto out = copied(
      "ld.global.v4.b32 {%r1,_,%r3,_}, [%rd1];\nst.global.v2.b32 [%rd2], {%r3, %r1};\nst.global.v2.b64 "
      "[%rd2+16], {-1, 3};",
      32);
  EXPECT_EQ(little_endian(out, 0, 4), little_endian(source, 8, 4));
  EXPECT_EQ(little_endian(out, 4, 4), little_endian(source, 0, 4));
  EXPECT_EQ(little_endian(out, 16, 8), ~std::uint64_t{0});
  EXPECT_EQ(little_endian(out, 24, 8), 3u);
}

TEST(LoadStore, AddressForms) {
  const auto source = pattern(256);
  const auto out = copied(
      "add.u64 %rd3, %rd1, 32;\nld.global.u32 %r1, [%rd3+-4];\nst.global.u32 [ %rd2 + 0 ], %r1;\n"
      "ld.global.u32 %r2, [%rd3+0x10];\nst.global.u32 [%rd2+4],%r2;\nadd.u64 %rd4, %rd2, 16;\nst.global.u32 "
      "[%rd4+-8], %r1;",
      12);
  EXPECT_EQ(little_endian(out, 0, 4), little_endian(source, 28, 4));
  EXPECT_EQ(little_endian(out, 4, 4), little_endian(source, 48, 4));
  EXPECT_EQ(little_endian(out, 8, 4), little_endian(source, 28, 4));
}

TEST(LoadStore, MemoryModelSpellingsMoveTheSameBits) {
  const auto source = pattern(256);
  for (const char* load :
       {"ld.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32", "ld.global.acquire.gpu.u32",
        "ld.acquire.sys.u32", "ld.weak.global.u32", "ld.global.cv.u32"})
    for (const char* store : {"st.relaxed.cta.global.u32", "st.release.gpu.global.u32",
                              "st.global.release.gpu.u32", "st.volatile.global.u32", "st.global.wt.u32"}) {
      const auto out = copied(std::string(load) + " %r1, [%rd1+8];\n" + store + " [%rd2], %r1;", 4);
      EXPECT_EQ(little_endian(out, 0, 4), little_endian(source, 8, 4)) << load << " " << store;
    }
}

TEST(StateSpace, SharedStaticAndDynamic) {
  const std::string text =
      module_header() + ".extern .shared .align 16 .b8 dynamic[];\n.extern .shared .align 16 .b8 alias[];\n" +
      entry("kernel", ".param .u64 out", R"(
.shared .align 4 .b8 first[12];
.shared .align 8 .u64 second[2];
mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 4;
mov.u32 %r3, first; add.u32 %r3, %r3, %r2; add.u32 %r4, %r1, 10; st.shared.u32 [%r3], %r4;
mov.u64 %rd1, dynamic; cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2; add.u32 %r5, %r1, 20; st.shared.u32 [%rd1], %r5;
setp.eq.u32 %p1, %r1, 0;
@%p1 st.shared.u64 [second+8], 30;
bar.sync 0;
ld.param.u64 %rd3, [out]; mul.wide.u32 %rd4, %r1, 16; add.u64 %rd3, %rd3, %rd4;
ld.shared.u32 %r6, [%r3]; st.global.u32 [%rd3], %r6;
mov.u32 %r7, alias; add.u32 %r7, %r7, %r2; ld.shared.u32 %r8, [%r7]; st.global.u32 [%rd3+4], %r8;
ld.shared.u64 %rd5, [second+8]; st.global.u64 [%rd3+8], %rd5;
ret;)");
  const Module module = parse_valid(text);
  EXPECT_GE(module.entries().at(0).static_shared_bytes, 12u + 16u);
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 48);
  expect_clean(run(module, memory, {1, 1, 1}, {3, 1, 1}, Arguments().u64(out), {}, 12));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 12),
            (std::vector<std::uint32_t>{10, 20, 30, 0, 11, 21, 30, 0, 12, 22, 30, 0}));
}

// Dynamic shared memory starts on 1024 bytes, whatever its declaration says, behind the static part.
TEST(StateSpace, DynamicSharedIsAligned) {
  const std::string text =
      module_header() + ".extern .shared .align 16 .b8 dynamic[];\n" + entry("kernel", ".param .u64 out", R"(
.shared .align 4 .b8 first[12];
ld.param.u64 %rd1, [out]; mov.u32 %r1, dynamic; mov.u32 %r2, first; st.global.v2.u32 [%rd1], {%r1, %r2};
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 8);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out), {}, 64));
  const auto values = read_all<std::uint32_t>(memory, out, 2);
  EXPECT_EQ(values[0] % 1024, 0u);
  EXPECT_GE(values[0], values[1] + 12);
}

TEST(StateSpace, SharedIsPerBlock) {
  const std::string text = kernel(".param .u64 out", R"(
.shared .u32 cell;
mov.u32 %r1, %ctaid.x; st.shared.u32 [cell], %r1; ld.shared.u32 %r2, [cell];
ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 400);
  expect_clean(run(parse_valid(text), memory, {100, 1, 1}, {1, 1, 1}, Arguments().u64(out)));
  std::vector<std::uint32_t> want(100);
  std::iota(want.begin(), want.end(), 0u);
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 100), want);
}

TEST(StateSpace, LocalIsPerThread) {
  const std::string text = kernel(".param .u64 out", R"(
.local .align 16 .b8 depot[64];
.reg .b64 %SP, %SPL;
mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL;
mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 15; mul.wide.u32 %rd1, %r2, 4;
add.u64 %rd2, %SPL, %rd1; st.local.u32 [%rd2], %r1;
add.u64 %rd3, %SP, %rd1; ld.u32 %r3, [%rd3];
add.u32 %r3, %r3, 1000; st.u32 [%rd3], %r3;
ld.local.u32 %r4, [%rd2];
ld.param.u64 %rd4, [out]; mul.wide.u32 %rd5, %r1, 4; add.u64 %rd4, %rd4, %rd5; st.global.u32 [%rd4], %r4;
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 4 * 96);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {96, 1, 1}, Arguments().u64(out)));
  const auto values = read_all<std::uint32_t>(memory, out, 96);
  for (std::uint32_t i = 0; i < 96; ++i) EXPECT_EQ(values[i], i + 1000);
}

TEST(StateSpace, ConstantsAndModuleVariables) {
  const std::string text = module_header() + R"(
.const .align 4 .u32 five = 5;
.const .align 4 .f32 table[4] = {0f3F800000, 2.0, 3.0};
.const .align 8 .b8 zeros[8];
.global .align 1 .b8 letters[8] = {97, 98, 0x63};
.visible .global .align 4 .u32 counter = 40;
.global .align 8 .u64 pointer = generic(counter);
.global .align 8 .u64 inside[2] = {letters, letters+2};
)" + entry("kernel", ".param .u64 out", R"(
ld.param.u64 %rd1, [out];
ld.const.u32 %r1, [five]; st.global.u32 [%rd1], %r1;
mov.u64 %rd2, table; ld.const.f32 %f1, [%rd2+8]; st.global.f32 [%rd1+4], %f1;
ld.const.f32 %f2, [table+12]; st.global.f32 [%rd1+8], %f2;
ld.const.u64 %rd3, [zeros]; st.global.u32 [%rd1+12], %rd3;
ld.global.b32 %r2, [letters]; st.global.b32 [%rd1+16], %r2;
ld.global.b8 %r3, [letters+7]; st.global.b32 [%rd1+20], %r3;
ld.global.u32 %r4, [counter]; add.u32 %r4, %r4, 2; st.global.u32 [counter], %r4; ld.global.u32 %r5, [counter]; st.global.u32 [%rd1+24], %r5;
ld.global.u64 %rd4, [pointer]; ld.u32 %r6, [%rd4]; st.global.u32 [%rd1+28], %r6;
cvta.const.u64 %rd5, %rd2; ld.f32 %f3, [%rd5+4]; st.global.f32 [%rd1+32], %f3;
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 36);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out)));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 9),
            (std::vector<std::uint32_t>{5, 0x40400000, 0, 0, 0x00636261, 0, 42, 42, 0x40000000}));
}

TEST(StateSpace, GenericAddressesOfEverySpace) {
  const std::string text = module_header() + ".global .align 4 .u32 variable = 1;\n" +
                           entry("kernel", ".param .u64 out, .param .align 4 .b8 block[8]", R"(
.shared .align 4 .u32 cell;
.local .align 4 .u32 mine;
ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;
st.shared.u32 [cell], 11; st.local.u32 [mine], 22;
mov.u64 %rd2, cell; cvta.shared.u64 %rd3, %rd2; ld.u32 %r1, [%rd3]; st.global.u32 [%rd1], %r1;
cvta.to.shared.u64 %rd4, %rd3; ld.shared.u32 %r2, [%rd4]; st.global.u32 [%rd1+4], %r2;
mov.u64 %rd5, mine; cvta.local.u64 %rd6, %rd5; ld.u32 %r3, [%rd6]; st.global.u32 [%rd1+8], %r3;
mov.u64 %rd7, variable; cvta.global.u64 %rd8, %rd7; ld.u32 %r4, [%rd8]; st.global.u32 [%rd1+12], %r4;
mov.b64 %rd9, block; cvta.param.u64 %rd10, %rd9; ld.u32 %r5, [%rd10+4]; st.global.u32 [%rd1+16], %r5;
cvta.global.u64 %rd11, %rd1; st.u32 [%rd11+20], 77;
isspacep.shared %p1, %rd3; isspacep.local %p2, %rd3; isspacep.global %p3, %rd8; isspacep.shared %p4, %rd8;
selp.u32 %r6, 1, 0, %p1; selp.u32 %r7, 2, 0, %p2; selp.u32 %r8, 4, 0, %p3; selp.u32 %r9, 8, 0, %p4;
or.b32 %r6, %r6, %r7; or.b32 %r6, %r6, %r8; or.b32 %r6, %r6, %r9; st.global.u32 [%rd1+24], %r6;
setp.eq.u64 %p5, %rd3, %rd6; selp.u32 %r10, 1, 0, %p5; st.global.u32 [%rd1+28], %r10;
ret;)");
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 32);
  expect_clean(run(parse_valid(text), memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out).u32(33).u32(44)));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 8),
            (std::vector<std::uint32_t>{11, 11, 22, 1, 44, 77, 5, 0}));
}

TEST(StateSpace, ParametersOfEveryType) {
  const std::string text = kernel(
      ".param .u64 .ptr .global .align 1 out, .param .u8 byte, .param .u16 half, .param .f32 real, .param "
      ".align 8 .b8 block[16], .param .u8 last",
      R"(
ld.param.u64 %rd1, [out];
ld.param.s8 %r1, [byte]; st.global.u32 [%rd1], %r1;
ld.param.u16 %h1, [half]; st.global.u16 [%rd1+4], %h1;
ld.param.f32 %f1, [real]; st.global.f32 [%rd1+8], %f1;
ld.param.v2.u32 {%r2, %r3}, [block+8]; st.global.v2.u32 [%rd1+16], {%r3, %r2};
mov.b64 %rd2, block; ld.param.u64 %rd3, [%rd2]; st.global.u64 [%rd1+24], %rd3;
ld.param.u8 %h2, [last]; st.global.u8 [%rd1+32], %h2;
ret;)");
  const Module module = parse_valid(text);
  const EntryInfo info = module.entries().at(0);
  ASSERT_EQ(info.parameters.size(), 6u);
  const std::uint32_t offsets[] = {0, 8, 10, 12, 16, 32}, sizes[] = {8, 1, 2, 4, 16, 1};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(info.parameters[i].offset, offsets[i]) << info.parameters[i].name;
    EXPECT_EQ(info.parameters[i].size, sizes[i]) << info.parameters[i].name;
  }
  EXPECT_EQ(info.parameters[4].align, 8u);
  EXPECT_EQ(info.parameters[4].name, "block");
  EXPECT_GE(info.parameter_bytes, 33u);
  Memory memory;
  const std::uint64_t out = memory.add_zeroed("out", 40);
  Arguments arguments;
  arguments.u64(out).u8(0x80).u16(0xbeef).f32(1.5f).u64(0x1122334455667788).u32(7).u32(9).u8(0xfe);
  expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, arguments));
  EXPECT_EQ(
      read_all<std::uint32_t>(memory, out, 9),
      (std::vector<std::uint32_t>{0xffffff80, 0xbeef, 0x3fc00000, 0, 9, 7, 0x55667788, 0x11223344, 0xfe}));
}

TEST(LoadStore, PredicatedOffAccessesTouchNothing) {
  const auto out = copied(
      "setp.eq.u32 %p1, 0, 1;\nmov.u64 %rd3, 0;\nmov.u32 %r1, 9;\n@%p1 ld.global.u32 %r1, [%rd3+1];\n@%p1 "
      "st.global.u32 [%rd3], %r1;\nst.global.u32 [%rd2], %r1;",
      4);
  EXPECT_EQ(little_endian(out, 0, 4), 9u);
}

TEST(LoadStore, PrefetchesAndHintsAreAccepted) {
  const auto source = pattern(256);
  const auto out = copied(
      "prefetch.global.L2 [%rd1];\ncreatepolicy.fractional.L2::evict_first.b64 %rd5, "
      "1.0;\nld.global.L2::cache_hint.u32 %r1, [%rd1], %rd5;\n"
      "ld.global.nc.L1::no_allocate.u32 %r2, [%rd1+4];\nst.global.v2.u32 [%rd2], {%r1, %r2};",
      8);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), source.begin()));
}

}  // namespace
}  // namespace moe4::ptx::test
