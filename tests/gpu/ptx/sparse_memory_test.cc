// Buffers of real layer sizes in little host memory, and the 64-bit offsets that go with them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

constexpr std::uint64_t kSixGigabytes = 6'000'000'000;

// One store at element 1,499,999,999 of u32, the offset computed as `multiply` says.
std::string store_at_end(const std::string& multiply) {
  return kernel(".param .u64 out",
                "ld.param.u64 %rd1, [out];\nmov.u32 %r1, 1499999999;\n" + multiply +
                    "\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], 77;  // HERE\nret;");
}

TEST(SparseMemory, LastElementOfSixGigabytes) {
  const std::uint64_t before = resident_bytes();
  Memory memory;
  const std::uint64_t out = memory.add_output("out", kSixGigabytes);
  expect_clean(run(parse_valid(store_at_end("mul.wide.u32 %rd2, %r1, 4;")), memory, {1, 1, 1}, {1, 1, 1},
                   Arguments().u64(out)));
  std::vector<std::uint32_t> cell(1);
  memory.read(out + kSixGigabytes - 4, std::as_writable_bytes(std::span(cell)));
  EXPECT_EQ(cell[0], 77u);
  EXPECT_LT(resident_bytes(), before + (64u << 20));
}

TEST(SparseMemory, SeveralHugeBuffersKeepApart) {
  const std::uint64_t before = resident_bytes();
  Memory memory;
  Arguments arguments;
  std::vector<std::uint64_t> at;
  for (int i = 0; i < 8; ++i) at.push_back(memory.add_zeroed("layer" + std::to_string(i), kSixGigabytes));
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t k = i + 1; k < at.size(); ++k) {
      const std::uint64_t gap = at[i] < at[k] ? at[k] - at[i] : at[i] - at[k];
      EXPECT_GE(gap, kSixGigabytes + (std::uint64_t{4} << 30));
    }
  const Module module = parse_valid(store_at_end("mul.wide.u32 %rd2, %r1, 4;"));
  for (const std::uint64_t address : at)
    expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(address)));
  EXPECT_LT(resident_bytes(), before + (64u << 20));
}

// 4 * 1,000,000,000 is negative as a 32-bit number, so the address lies below the buffer.
TEST(SparseMemory, OffsetTruncatedTo32BitsIsOutOfBounds) {
  Trial trial{store_at_end("mul.lo.u32 %r2, %r1, 4;\ncvt.s64.s32 %rd2, %r2;"),
              {output("out", kSixGigabytes)},
              {1, 1, 1},
              {1, 1, 1}};
  trial.text.replace(trial.text.find("1499999999"), 10, "1000000000");
  expect_finding(trial, run(trial), Check::kOutOfBounds, "HERE", Dim3{0, 0, 0}, Dim3{0, 0, 0});
  trial.text.replace(trial.text.find("cvt.s64.s32"), 11, "cvt.u64.u32");
  expect_clean(run(trial));
}

// Zero and poison are seen wherever nothing was written, and `written` agrees.
TEST(SparseMemory, UnwrittenBytesReadAsPoisonOrZero) {
  Memory memory;
  const std::uint64_t out = memory.add_output("out", 20000), clear = memory.add_zeroed("clear", 20000);
  const Module module =
      parse_valid(kernel(".param .u64 a, .param .u64 b",
                         "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; st.global.u16 [%rd1+10000], "
                         "0x1234; st.global.u16 [%rd2+10000], 0x1234;\nret;"));
  expect_clean(run(module, memory, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out).u64(clear)));
  const auto a = read_all<std::uint8_t>(memory, out, 20000), b = read_all<std::uint8_t>(memory, clear, 20000);
  const std::vector<bool> written = memory.written(out);
  ASSERT_EQ(written.size(), 20000u);
  for (std::size_t i = 0; i < 20000; ++i) {
    const bool stored = i == 10000 || i == 10001;
    ASSERT_EQ(written[i], stored) << i;
    ASSERT_EQ(a[i], i == 10000 ? 0x34 : i == 10001 ? 0x12 : 0xff) << i;
    ASSERT_EQ(b[i], i == 10000 ? 0x34 : i == 10001 ? 0x12 : 0x00) << i;
  }
}

TEST(SparseMemory, InputsAreBorrowed) {
  std::vector<std::uint32_t> host = {1, 2, 3};
  Memory memory;
  const std::uint64_t in = memory.add_input("in", std::as_bytes(std::span(host))),
                      out = memory.add_output("out", 12);
  const Module module =
      parse_valid(kernel(".param .u64 a, .param .u64 b",
                         "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 "
                         "%rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;\n"
                         "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;\nret;"));
  host[1] = 20;  // seen by the launch: nothing was copied
  expect_clean(run(module, memory, {1, 1, 1}, {3, 1, 1}, Arguments().u64(in).u64(out)));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 3), (std::vector<std::uint32_t>{1, 20, 3}));
}

TEST(SparseMemory, LargeAlignmentAndMoves) {
  Memory memory;
  std::vector<std::byte> host(3);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(memory.add_output("o" + std::to_string(i), 5) % 256, 0u);
    EXPECT_EQ(memory.add_input("i" + std::to_string(i), host) % 256, 0u);
  }
  const std::uint64_t out = memory.add_zeroed("out", 4);
  Memory moved = std::move(memory);
  const Module module =
      parse_valid(kernel(".param .u64 a", "ld.param.u64 %rd1, [a]; st.global.u32 [%rd1], 6;\nret;"));
  expect_clean(run(module, moved, {1, 1, 1}, {1, 1, 1}, Arguments().u64(out)));
  EXPECT_EQ(read_all<std::uint32_t>(moved, out, 1)[0], 6u);
}

}  // namespace
}  // namespace moe4::ptx::test
