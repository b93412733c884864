// What nobody wrote reads as the launch's poison, in every block and thread anew: nothing leaks from an
// earlier one.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

// Each of 40 blocks of 32 copies one unwritten word to `out` and then writes its own number over it.
std::string copies(const std::string& declaration, const std::string& load, const std::string& overwrite) {
  return kernel(
      ".param .u64 out",
      declaration +
          "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, "
          "%r1; mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd1, %rd2; mul.lo.u32 %r5, %r1, 4;\n" +
          load + "\nst.global.u32 [%rd2], %r4;\n" + overwrite + "\nret;");
}

TEST(Poison, SharedLocalRegistersAndOutputs) {
  const std::string sources[] = {copies(".shared .align 4 .b8 tile[128];\n",
                                        "mov.u32 %r6, tile; add.u32 %r6, %r6, %r5; ld.shared.u32 %r4, [%r6];",
                                        "st.shared.u32 [%r6], %r3;"),
                                 copies(".local .align 4 .b8 depot[8];\n", "ld.local.u32 %r4, [depot+4];",
                                        "st.local.u32 [depot+4], %r3;"),
                                 copies("", "mov.u32 %r4, %r40;", "mov.u32 %r40, %r3;"),
                                 copies("", "ld.global.u32 %r4, [%rd2];", "")};
  for (const std::string& text : sources)
    for (const std::uint8_t poison : {0xff, 0xa5, 0x00}) {
      const Module module = parse_valid(text);
      Memory memory;
      const std::uint64_t out = memory.add_output("out", 4 * 32 * 40);
      Options options;
      options.poison = std::byte{poison};
      options.host_threads = 1;
      const LaunchReport report = run(module, memory, {40, 1, 1}, {32, 1, 1}, Arguments().u64(out), options);
      ASSERT_FALSE(report.error.has_value()) << describe(report);
      ASSERT_TRUE(report.completed) << describe(report);
      EXPECT_EQ(read_all<std::uint32_t>(memory, out, 32 * 40),
                std::vector<std::uint32_t>(32 * 40, poison * 0x01010101u))
          << text;
    }
}

// Registers are poison even where their storage served other values before.
TEST(Poison, RegistersAfterOthersHaveDied) {
  std::string body =
      "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; "
      "mov.u32 %r2, 0;\n";
  for (int i = 10; i < 30; ++i)
    body += "mad.lo.u32 %r" + std::to_string(i) + ", %r1, %r1, " + std::to_string(i) + ";\n";
  for (int i = 10; i < 30; ++i) body += "xor.b32 %r2, %r2, %r" + std::to_string(i) + ";\n";
  body += "and.b32 %r2, %r2, 0; setp.lt.u32 %p1, %r1, 20;\n";
  for (int i = 40; i < 60; ++i) body += "@%p1 mov.u32 %r" + std::to_string(i) + ", 1;\n";
  for (int i = 40; i < 60; ++i) body += "add.u32 %r2, %r2, %r" + std::to_string(i) + ";\n";
  const Module module = parse_valid(kernel(".param .u64 out", body + "st.global.u32 [%rd1], %r2;\nret;"));
  for (const std::uint8_t poison : {0xff, 0x00, 0x31}) {
    Memory memory;
    const std::uint64_t out = memory.add_output("out", 128);
    Options options;
    options.poison = std::byte{poison};
    ASSERT_TRUE(run(module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(out), options).completed);
    const auto values = read_all<std::uint32_t>(memory, out, 32);
    for (std::uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(values[i], i < 20 ? 20u : 20u * (poison * 0x01010101u)) << i;
  }
}

TEST(Poison, DynamicSharedToo) {
  const Module module = parse_valid(
      module_header() + ".extern .shared .align 16 .b8 tail[];\n" +
      entry(
          "kernel", ".param .u64 out",
          "ld.param.u64 %rd1, [out]; ld.shared.u32 %r1, [tail+8]; st.shared.u32 [tail+8], 0; mov.u32 %r2, "
          "%ctaid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;\nret;"));
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 80);
  Options options;
  options.poison = std::byte{0x5a};
  const LaunchReport report = run(module, memory, {20, 1, 1}, {1, 1, 1}, Arguments().u64(out), options, 16);
  ASSERT_TRUE(report.completed) << describe(report);
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 20), std::vector<std::uint32_t>(20, 0x5a5a5a5au));
}

}  // namespace
}  // namespace moe4::ptx::test
