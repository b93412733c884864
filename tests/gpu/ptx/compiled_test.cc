// PTX that nvcc wrote (compiled/probe.cu): real text, real register use, results against the C++ source run
// here.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

class Compiled : public ::testing::TestWithParam<const char*> {
 protected:
  Module module() const {
    std::ifstream file(std::string(MOE4_SOURCE_DIR) + "/tests/gpu/ptx/compiled/probe_" + GetParam() + ".ptx");
    std::stringstream text;
    text << file.rdbuf();
    return parse_valid(text.str());
  }
};

std::vector<float> numbers(std::size_t n) {
  Lcg random(n);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(static_cast<std::int32_t>(random.next32())) * 0x1p-28f;
  return values;
}

TEST_P(Compiled, EveryEntryIsSupported) {
  const std::vector<EntryInfo> entries = module().entries();
  ASSERT_EQ(entries.size(), 5u);
  for (const EntryInfo& entry : entries) EXPECT_TRUE(entry.unsupported.empty()) << entry.name;
  EXPECT_EQ(entries[0].static_shared_bytes, 128u);
}

TEST_P(Compiled, RowSums) {
  constexpr int kWidth = 300, kRows = 5, kThreads = 96;
  const std::vector<float> in = numbers(std::size_t{kWidth} * kRows);
  Memory memory;
  const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                      out = memory.add_output("out", 4 * kRows);
  expect_clean(run(module(), memory, {kRows, 1, 1}, {kThreads, 1, 1}, Arguments().u64(a).u64(out).u32(kWidth),
                   {}, 0, "row_sums"));
  const auto got = read_all<std::uint32_t>(memory, out, kRows);
  for (int row = 0; row < kRows; ++row) {
    float lane[kThreads] = {};
    for (int i = 0; i < kWidth; ++i) lane[i % kThreads] += in[static_cast<std::size_t>(row * kWidth + i)];
    for (int step = 16; step; step /= 2) {
      float next[kThreads];
      for (int t = 0; t < kThreads; ++t) next[t] = lane[t] + lane[t % 32 + step < 32 ? t + step : t];
      std::copy(next, next + kThreads, lane);
    }
    float sum = lane[0];
    for (int w = 1; w < kThreads / 32; ++w) sum += lane[32 * w];
    EXPECT_EQ(got[static_cast<std::size_t>(row)], std::bit_cast<std::uint32_t>(sum)) << row;
  }
}

TEST_P(Compiled, Histogram) {
  std::vector<std::uint8_t> in(5000);
  std::vector<std::uint32_t> want(256);
  Lcg random(3);
  for (auto& byte : in) want[byte = static_cast<std::uint8_t>(random.below(200))]++;
  Memory memory;
  const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                      out = memory.add_zeroed("out", 1024);
  expect_clean(run(module(), memory, {3, 1, 1}, {130, 1, 1}, Arguments().u64(a).u64(out).u32(5000), {}, 1024,
                   "histogram"));
  EXPECT_EQ(read_all<std::uint32_t>(memory, out, 256), want);
}

TEST_P(Compiled, Mixture) {
  constexpr std::uint32_t n = 203;
  const std::vector<float> source = numbers(2 * n);
  std::vector<std::uint16_t> a, b;
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const auto value = [](Bits x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x)); };
  constexpr Round kNear = Round::kNearestEven;
  for (std::uint32_t i = 0; i < n; ++i) {
    a.push_back(static_cast<std::uint16_t>(float_convert(kF32, bits(source[2 * i]), kBf16, kNear)));
    b.push_back(static_cast<std::uint16_t>(float_convert(kF32, bits(source[2 * i + 1]), kF16, kNear)));
  }
  const float scale = 0.3f;
  Memory memory;
  const std::uint64_t pa = memory.add_input("a", std::as_bytes(std::span(a))),
                      pb = memory.add_input("b", std::as_bytes(std::span(b)));
  const std::uint64_t out = memory.add_output("out", 4 * n);
  Arguments arguments;
  arguments.u64(pa).u64(pb).u64(out).f32(scale).u32(9).u32(2).u32(9).u32(n);
  expect_clean(run(module(), memory, {4, 1, 1}, {64, 1, 1}, arguments, {}, 0, "mixture"));
  const auto got = read_all<std::uint32_t>(memory, out, n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto half = value(float_convert(kF16, b[i], kF32, kNear));
    float x = value(float_convert(kBf16, a[(i + (i >> 2 & 7)) % n], kF32, kNear)) * scale;
    switch (i % 6) {
      case 0:
        x = x + half;
        break;
      case 1:
        x = x / 3.0f;
        break;
      case 2:
        x = std::sqrt(std::fabs(x));
        break;
      case 3:
        x = std::fmin(std::fmax(x, -1.0f), 1.0f);
        break;
      case 4:
        x = value(float_convert(kF16, float_add(kF16, b[i], float_convert(kF32, bits(x), kF16, kNear), kNear),
                                kF32, kNear));
        break;
      default:
        x = value(float_convert(kBf16, float_mul(kBf16, a[i], a[i], kNear), kF32, kNear));
        break;
    }
    EXPECT_EQ(got[i], bits(x)) << i;
  }
}

TEST_P(Compiled, WideIntegersAndDoubles) {
  std::vector<std::int64_t> in;
  Lcg random(8);
  for (int i = 0; i < 100; ++i) in.push_back(static_cast<std::int64_t>(random.next64()) >> random.below(60));
  for (const std::int64_t divisor :
       {std::int64_t{7}, std::int64_t{-3}, std::int64_t{1} << 40, std::int64_t{-123456789012345}}) {
    Memory memory;
    const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                        out = memory.add_output("out", 800);
    expect_clean(run(module(), memory, {1, 1, 1}, {128, 1, 1},
                     Arguments().u64(a).u64(out).u64(static_cast<std::uint64_t>(divisor)).u32(100), {}, 0,
                     "wide"));
    const auto got = read_all<std::uint64_t>(memory, out, 100);
    for (std::size_t i = 0; i < 100; ++i) {
      const std::int64_t quotient = in[i] / divisor, rest = in[i] % divisor;
      const double root = std::sqrt(static_cast<double>(rest < 0 ? -rest : rest)) *
                          std::popcount(static_cast<std::uint64_t>(in[i]));
      const double sum = static_cast<double>(quotient) / 7.0 + root;
      EXPECT_EQ(got[i], std::bit_cast<std::uint64_t>(sum)) << in[i] << " by " << divisor;
    }
  }
}

TEST_P(Compiled, Nibbles) {
  constexpr std::uint32_t n = 77;
  std::vector<std::uint32_t> in;
  Lcg random(9);
  for (std::uint32_t i = 0; i < 4 * n; ++i) in.push_back(random.next32());
  Memory memory;
  const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                      out = memory.add_output("out", 16 * n);
  expect_clean(
      run(module(), memory, {2, 1, 1}, {64, 1, 1}, Arguments().u64(a).u64(out).u32(n), {}, 0, "nibbles"));
  const auto got = read_all<std::uint32_t>(memory, out, 4 * n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t x = in[4 * i], y = in[4 * i + 1], z = in[4 * i + 2], w = in[4 * i + 3];
    std::uint32_t sum[4] = {};
    for (std::uint32_t k = 0; k < 8; ++k) {
      sum[0] += x >> (4 * k) & 15;
      sum[1] += static_cast<std::uint32_t>(static_cast<std::int32_t>((y >> (4 * k) & 15) << 28) >> 28);
      const std::uint64_t both = std::uint64_t{w} << 32 | z;
      std::uint32_t permuted = 0;
      for (std::uint32_t byte = 0; byte < 4; ++byte)
        permuted |= static_cast<std::uint32_t>(both >> (8 * ((0x4040 + k) >> (4 * byte) & 7)) & 0xff)
                    << (8 * byte);
      sum[2] ^= permuted * (k + 1);
      sum[3] = (k ? x << k | w >> (32 - k) : x) + sum[3] * 3;
    }
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(got[4 * i + c], sum[c]) << i << " " << c;
  }
}

// A fault in compiled code is found at the CUDA line that .loc names.
TEST_P(Compiled, FaultIsNamedByItsSourceLine) {
  const std::vector<float> in = numbers(64);
  Memory memory;
  const std::uint64_t a = memory.add_input("in", std::as_bytes(std::span(in))),
                      out = memory.add_output("out", 4);
  const LaunchReport report =
      run(module(), memory, {2, 1, 1}, {32, 1, 1}, Arguments().u64(a).u64(out).u32(32), {}, 0, "row_sums");
  ASSERT_EQ(report.findings.size(), 1u) << describe(report);
  EXPECT_EQ(report.findings[0].check, Check::kOutOfBounds);
  EXPECT_EQ(report.findings[0].kernel, "row_sums");
  EXPECT_EQ(report.findings[0].place.source_file, "probe.cu");
  EXPECT_EQ(report.findings[0].place.source_line, 22);  // out[blockIdx.x] = sum;
  EXPECT_EQ(report.findings[0].place.block, (Dim3{1, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Targets, Compiled, ::testing::Values("sm_80", "sm_90a"),
                         [](const auto& target) { return std::string(target.param); });

}  // namespace
}  // namespace moe4::ptx::test
