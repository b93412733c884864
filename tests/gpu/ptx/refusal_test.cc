// What is refused, and where the complaint points: broken text, unsupported instructions, impossible
// launches.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

Error error_of(const std::string& text) {
  Error error;
  const std::optional<Module> module = Module::parse(text, "bad", &error);
  EXPECT_FALSE(module.has_value()) << text;
  EXPECT_FALSE(error.message.empty());
  return error;
}

// The line of the one complaint about a kernel that cannot run: from the parser, or from the entry's list.
int refused_line(const std::string& text) {
  Error error;
  const std::optional<Module> module = Module::parse(text, "bad", &error);
  if (!module) {
    EXPECT_FALSE(error.message.empty());
    return error.line;
  }
  const std::vector<Error> unsupported = module->entries().at(0).unsupported;
  EXPECT_EQ(unsupported.size(), 1u) << text;
  if (unsupported.empty()) return -1;
  EXPECT_FALSE(unsupported[0].message.empty());
  return unsupported[0].line;
}

TEST(ParserErrors, NameTheLine) {
  const struct {
    const char *text, *marker;
  } bad[] = {{"mov.u32 %r1, 1;\nmov.u32 %r999, 1;  // HERE\nret;", "HERE"},
             {"bra MISSING;  // HERE\nret;", "HERE"},
             {"ld.param.u64 %rd1, [no_such_parameter];  // HERE\nret;", "HERE"},
             {"mov.u32 %r1, 5 5;  // HERE\nret;", "HERE"},
             {"st.global.u32 [%rd1, %r1;  // HERE\nret;", "HERE"},
             {"TWICE:\nTWICE:  // HERE\nret;", "HERE"},
             {"mov.u32 %r1, \x01;  // HERE\nret;", "HERE"}};
  for (const auto& b : bad) {
    const std::string text = kernel("", b.text);
    EXPECT_EQ(refused_line(text), line_of(text, b.marker)) << b.text;
  }
}

TEST(ParserErrors, ConstantOfAnUnknownType) {
  const std::string text = kernel("", ".shared .b32 tile;\nmov.u31 %r1, tile;  // HERE\nret;");
  EXPECT_EQ(refused_line(text), line_of(text, "HERE"));
}

TEST(ParserErrors, TableOfLop3HasEightBits) {
  const std::string text = kernel("", "lop3.b32 %r1, %r2, %r3, %r4, 256;  // HERE\nret;");
  EXPECT_EQ(refused_line(text), line_of(text, "HERE"));
}

TEST(ParserErrors, TextThatIsNoModule) {
  for (const std::string& text :
       {std::string(), std::string("hello"), std::string("{"), std::string("\0\0\0", 3),
        std::string(".version 8.0\n.target sm_90a\n.visible .entry kernel(\n"),
        std::string(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel()\n{\nret;\n"),
        std::string("/* never closed"), std::string(".version 42.0\n.target sm_90a\n.address_size 64\n")})
    error_of(text);
}

TEST(ParserErrors, UnsupportedInstructionsAreNamedAndRefused) {
  const std::string text = kernel(
      ".param .u64 out",
      "ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\nfrobnicate.sync.b32 %r1, %r2;  // HERE\nret;");
  Error error;
  const std::optional<Module> module = Module::parse(text, "odd", &error);
  if (!module) {  // refused at once: just as good
    EXPECT_EQ(error.line, line_of(text, "HERE"));
    return;
  }
  const std::vector<Error> unsupported = module->entries().at(0).unsupported;
  ASSERT_EQ(unsupported.size(), 1u);
  EXPECT_EQ(unsupported[0].line, line_of(text, "HERE"));
  EXPECT_NE(unsupported[0].instruction.find("frobnicate"), std::string::npos);
  Memory memory;
  const std::uint64_t out = memory.add_zeroed("out", 4);
  const LaunchReport report = run(*module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out));
  ASSERT_TRUE(report.error.has_value());
  EXPECT_EQ(report.error->line, line_of(text, "HERE"));
  EXPECT_FALSE(report.completed);
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 0u) << "a thread ran";
}

// Tensor-core and asynchronous instructions are named in the entry that has them; other entries run.
TEST(ParserErrors, OneUnsupportedEntryDoesNotSpoilTheModule) {
  for (const char* instruction : {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
                                  "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};",
                                  "wgmma.fence.sync.aligned;", "cp.async.bulk.commit_group;",
                                  "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2, 0x989680;",
                                  "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::"
                                  "bytes [%r1], [%rd1, {%r2, %r3}], [%r4];"}) {
    const std::string text =
        module_header() +
        entry("good", ".param .u64 out", "ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 8;\nret;") +
        entry("bad", ".param .u64 out", std::string(instruction) + "  // HERE\nret;");
    const Module module = parse_valid(text);
    ASSERT_EQ(module.entries().size(), 2u);
    EXPECT_TRUE(module.entries()[0].unsupported.empty());
    Memory memory;
    const std::uint64_t out = memory.add_output("out", 4);
    expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out), {}, 0, "good"));
    if (module.entries()[1].unsupported.empty()) continue;  // supported by now
    EXPECT_EQ(module.entries()[1].unsupported[0].line, line_of(text, "HERE"));
    const LaunchReport report =
        run(module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(out), {}, 0, "bad");
    ASSERT_TRUE(report.error.has_value()) << instruction;
    EXPECT_EQ(report.error->line, line_of(text, "HERE"));
    EXPECT_NE(report.error->instruction.find(std::string(instruction).substr(0, 5)), std::string::npos);
  }
}

// A modifier that is not understood must not be dropped: the result would be another instruction's.
TEST(ParserErrors, UnknownModifiersAreRefused) {
  for (const char* instruction :
       {"add.satt.s32 %r1, %r2, %r3;", "add.rn.s32 %r1, %r2, %r3;", "fma.rn.xyz.f32 %f1, %f2, %f3, %f4;",
        "ld.global.v3.u32 {%r1, %r2, %r3}, [%rd1];", "mul.s32 %r1, %r2, %r3;", "cvt.rn.f32 %f1, %r1;",
        "setp.zz.u32 %p1, %r1, %r2;", "mul.wide.s64 %rd1, %rd2, %rd3;", "bar.sync;", "add.s32 %r1, %r2;",
        "add.s32 %r1, %r2, %r3, %r4;", "shl.b32 5, %r1, %r2;", "div.f32 %f1, %f2, %f3;",
        "fma.f32 %f1, %f2, %f3, %f4;"}) {
    const std::string text = kernel("", std::string(instruction) + "  // HERE\nret;");
    EXPECT_EQ(refused_line(text), line_of(text, "HERE")) << instruction;
  }
}

TEST(LaunchErrors, GeometryParametersAndNames) {
  const Module module =
      parse_valid(module_header() + entry("kernel", ".param .u64 out", "ret;", ".reqntid 64") +
                  entry("limited", "", "ret;", ".maxntid 128, 1, 1") + entry("plain", "", "ret;"));
  Memory memory;
  const std::uint64_t out = memory.add_zeroed("out", 4);
  const auto refused = [&](const std::string& name, Dim3 grid, Dim3 block, const Arguments& arguments) {
    const LaunchReport report = run(module, memory, grid, block, arguments, {}, 0, name);
    EXPECT_TRUE(report.error.has_value()) << name;
    EXPECT_FALSE(report.completed);
    if (report.error) {
      EXPECT_FALSE(report.error->message.empty());
    }
  };
  refused("missing", {1, 1, 1}, {64, 1, 1}, Arguments());
  refused("kernel", {1, 1, 1}, {32, 1, 1}, Arguments().u64(out));
  refused("kernel", {1, 1, 1}, {64, 1, 1}, Arguments());
  refused("kernel", {1, 1, 1}, {64, 1, 1}, Arguments().u64(out).u64(out));
  refused("limited", {1, 1, 1}, {129, 1, 1}, Arguments());
  refused("plain", {0, 1, 1}, {32, 1, 1}, Arguments());
  refused("plain", {1, 1, 1}, {32, 0, 1}, Arguments());
  refused("plain", {1, 1, 1}, {1025, 1, 1}, Arguments());
  refused("plain", {1, 1, 1}, {32, 33, 1}, Arguments());
  refused("plain", {1, 1, 1}, {1, 1, 65}, Arguments());
  refused("plain", {1, 65536, 1}, {1, 1, 1}, Arguments());
  expect_clean(run(module, memory, {1, 1, 1}, {64, 1, 1}, Arguments().u64(out)));
  expect_clean(run(module, memory, {1, 1, 1}, {128, 1, 1}, Arguments(), {}, 0, "limited"));
  expect_clean(run(module, memory, {2, 2, 2}, {8, 4, 32}, Arguments(), {}, 0, "plain"));
}

TEST(LaunchErrors, TooMuchSharedMemory) {
  const Module module =
      parse_valid(kernel("", ".shared .align 4 .b8 tile[1024];\nst.shared.u32 [tile], 1;\nret;"));
  Memory memory;
  expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments(), {}, 200 * 1024));
  EXPECT_TRUE(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments(), {}, 512 * 1024).error.has_value());
}

}  // namespace
}  // namespace moe4::ptx::test
