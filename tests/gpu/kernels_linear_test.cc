// Every expert_linear variant of gpu/kernels.inc on the executor against double arithmetic on the host, on
// data where FP32 is exact. The oracle judges the kernels on all other data; this finds a broken kernel
// before it gets there.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/gpu/kernels_host_linear.h"

namespace moe4::gpu {

void PrintTo(const Variant& variant, std::ostream* to) { *to << variant.name; }

namespace {

using test::LinearCase;
using test::LinearRun;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string describe(const LaunchOutcome& outcome) {
  std::string text = outcome.error.value_or("");
  for (const ptx::Finding& finding : outcome.findings) text += "\n" + ptx::to_string(finding);
  return text;
}

// The first wrong output, or "".
std::string first_difference(const std::vector<float>& want, const std::vector<float>& got) {
  if (want.size() != got.size()) return "sizes differ";
  for (std::size_t n = 0; n < want.size(); ++n) {
    if (!test::same_value(want[n], got[n])) {
      return "output " + std::to_string(n) + ": want " + std::to_string(want[n]) + ", got " +
             std::to_string(got[n]);
    }
  }
  return "";
}

class KernelsLinear : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (GetParam().ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
  }

  void expect_right(const LinearCase& c) {
    const LinearRun run = test::run_linear(GetParam(), c, *device_);
    ASSERT_TRUE(run.planned);
    EXPECT_TRUE(run.outcome.completed);
    EXPECT_EQ(describe(run.outcome), "");
    EXPECT_TRUE(run.inputs_unchanged);
    for (std::size_t n = 0; n < run.written.size(); ++n) ASSERT_TRUE(run.written[n]) << "output " << n;
    EXPECT_EQ(first_difference(test::expected_output(c, GetParam().dtype), run.output), "");
  }

  std::unique_ptr<Device> device_ = make_executor_device();
};

TEST_P(KernelsLinear, ExactData) {
  const LaunchShape shapes[] = {
      {1, 1, 32, 1, 1},   {9, 4, 32, 33, 2},  // one group; one output and one token past a tile
      {4, 3, 128, 32, 3},                     // whole tiles, whole slabs
      {5, 3, 160, 7, 3},                      // the last slab has one group of four
      {2, 2, 1088, 3, 4},                     // more groups than lanes
      {3, 2, 2112, 2, 1}, {1, 300, 64, 5, 6}, {130, 2, 32, 1, 1},
  };
  std::uint64_t seed = 1;
  for (const LaunchShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << "T=" << shape.tokens << " E=" << shape.experts << " I=" << shape.in
                                    << " O=" << shape.out << " K=" << shape.top_k);
    expect_right(test::exact_case(shape, seed++));
  }
}

TEST_P(KernelsLinear, NoSlotsGivesShared) {
  LinearCase c = test::exact_case({5, 2, 64, 3, 0}, 7);
  c.shared[4] = -0.0f;
  expect_right(c);
  EXPECT_TRUE(std::signbit(test::run_linear(GetParam(), c, *device_).output[4]));
}

TEST_P(KernelsLinear, EmptyOutputIsNotLaunched) {
  EXPECT_FALSE(test::run_linear(GetParam(), test::exact_case({0, 2, 64, 3, 2}, 8), *device_).planned);
  EXPECT_FALSE(test::run_linear(GetParam(), test::exact_case({3, 2, 64, 0, 2}, 9), *device_).planned);
}

// Every scale byte times a token of every size: what is in range is exact, and neither Inf nor 0 by way of
// the scale.
TEST_P(KernelsLinear, EveryScaleByteMeetsEveryTokenExponent) {
  LinearCase c = test::blank_case({17, 1, 64, 256, 1});
  for (std::int64_t row = 0; row < 256; ++row) {
    c.scales[static_cast<std::size_t>(2 * row)] = static_cast<std::uint8_t>(row);
    c.set_code(0, row, 5, static_cast<unsigned>(row % 16));
    c.set_code(0, row, 6, 8);  // -0
  }
  for (std::int64_t t = 0; t < 17; ++t) {
    c.tokens[static_cast<std::size_t>(64 * t + 5)] = std::ldexp(1.25f, static_cast<int>(t * 16 - 131));
    c.tokens[static_cast<std::size_t>(64 * t + 6)] = std::ldexp(-1.75f, 127);  // times a zero code
    c.tokens[static_cast<std::size_t>(64 * t + 32)] = std::ldexp(1.0f, 127);   // in a group of zero codes
  }
  expect_right(c);
}

TEST_P(KernelsLinear, LargestWeightTimesSmallToken) {
  LinearCase c = test::blank_case({1, 1, 32, 1, 1});
  c.scales[0] = 254;
  c.set_code(0, 0, 31, 7);  // 6·2^127
  c.tokens[31] = std::ldexp(1.0f, -127);
  const LinearRun run = test::run_linear(GetParam(), c, *device_);
  EXPECT_EQ(run.output.at(0), 6.0f);
}

TEST_P(KernelsLinear, SumsAcrossScalesKeepSmallTerms) {
  LinearCase c = test::blank_case({1, 1, 128, 1, 1});
  const std::uint8_t scales[4] = {0, 127, 254, 129};
  const float tokens[4] = {std::ldexp(1.0f, 127), 3.0f, std::ldexp(1.0f, -126), 5.0f};
  for (int g = 0; g < 4; ++g) {
    c.scales[static_cast<std::size_t>(g)] = scales[g];
    c.set_code(0, 0, 32 * g + 7 * g, 2);
    c.tokens[static_cast<std::size_t>(32 * g + 7 * g)] = tokens[g];
  }
  expect_right(c);  // 1 + 3 + 2 + 20
  EXPECT_EQ(test::run_linear(GetParam(), c, *device_).output.at(0), 26.0f);
}

TEST_P(KernelsLinear, NonFiniteOperandsFollowIeee) {
  LinearCase c = test::blank_case({6, 2, 32, 2, 2});
  for (std::int64_t row = 0; row < 2; ++row) {
    c.set_code(0, row, 0, 2);
    c.set_code(1, row, 0, 2);
    c.set_code(1, row, 1, row == 0 ? 10 : 0);
  }
  for (std::size_t t = 0; t < 6; ++t) c.ids[2 * t + 1] = 1;
  for (std::size_t t = 0; t < 6; ++t) c.tokens[32 * t] = c.tokens[32 * t + 1] = 1.0f;
  c.tokens[0] = kNan;
  c.tokens[32] = kInf;  // row 1: Inf times the zero codes of other inputs is not met, those tokens are finite
  c.tokens[64 + 1] = kInf;  // Inf times code 0 is NaN
  c.mixture[6] = 0.0f;      // 0 · finite
  c.tokens[96] = 4.0f;
  c.tokens[128] = kInf;
  c.mixture[8] = 0.0f;  // 0 · Inf
  c.mixture[10] = -kInf;
  expect_right(c);
}

TEST_P(KernelsLinear, NanScaleOfAnUnselectedExpertDoesNothing) {
  LinearCase c = test::exact_case({4, 3, 64, 5, 2}, 11);
  for (std::int32_t& id : c.ids) id = id == 1 ? 2 : id;
  for (std::size_t n = 5 * 2; n < 2 * 5 * 2; ++n) c.scales[n] = 255;
  expect_right(c);
  for (float y : test::run_linear(GetParam(), c, *device_).output) EXPECT_FALSE(std::isnan(y));
}

TEST_P(KernelsLinear, NanScaleTurnsZeroCodesIntoNan) {
  LinearCase c = test::blank_case({2, 2, 64, 3, 1});
  c.ids = {0, 1};
  c.scales[(1 * 3 + 2) * 2 + 1] = 255;
  expect_right(c);
  const LinearRun run = test::run_linear(GetParam(), c, *device_);
  for (std::size_t n = 0; n < 6; ++n) EXPECT_EQ(std::isnan(run.output[n]), n == 5) << n;
}

TEST_P(KernelsLinear, MissingBlocksShowAsUnwrittenOutputs) {
  const LinearCase c = test::exact_case({9, 2, 32, 70, 1}, 12);
  const LinearRun run =
      test::run_linear(GetParam(), c, *device_, [](KernelLaunch& launch) { launch.grid.x -= 1; });
  std::size_t unwritten = 0;
  for (bool written : run.written) unwritten += !written;
  EXPECT_GT(unwritten, 0u);
  EXPECT_LE(unwritten, 128u);
  EXPECT_FALSE(run.written.back());
}

// The comparison above must be able to fail: other sign bit, other magnitude bits, other scale bias.
TEST_P(KernelsLinear, WrongDecodeIsSeen) {
  const LinearCase c = test::exact_case({5, 3, 96, 7, 2}, 13);
  const std::vector<float> want = test::expected_output(c, GetParam().dtype);
  const std::pair<std::string, std::string> edits[] = {
      {"-2118123520", "29360128"},     // 0x81C00000 → 0x01C00000: the sign is lost
      {"-2118123520", "-2122317824"},  // → 0x81800000: the mantissa bit is lost
  };
  for (const auto& [from, to] : edits) {
    std::string text(GetParam().ptx);
    std::size_t replaced = 0;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size(), ++replaced) {
      text.replace(at, from.size(), to);
    }
    ASSERT_GT(replaced, 0u) << from;
    const LinearRun run =
        test::run_linear(GetParam(), c, *device_, [&](KernelLaunch& launch) { launch.ptx = text; });
    EXPECT_EQ(describe(run.outcome), "");
    EXPECT_NE(first_difference(want, run.output), "") << from << " → " << to;
  }
}

// What a seed permutes changes no bit: the smallest case with more than one warp's worth of anything.
TEST_P(KernelsLinear, RightUnderTwoHundredSeeds) {
  const LinearCase c = test::exact_case({2, 2, 64, 3, 2}, 15);
  const std::vector<float> want = test::expected_output(c, GetParam().dtype);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    LaunchSettings settings;
    settings.schedule = seed;
    settings.host_threads = 1;
    const LinearRun run = test::run_linear(GetParam(), c, *device_, {}, settings);
    ASSERT_EQ(describe(run.outcome), "") << seed;
    ASSERT_EQ(first_difference(want, run.output), "") << seed;
  }
}

class KernelsTile : public KernelsLinear {};

// Both barriers of the tile kernels hold something apart: without either, shared memory is raced for.
TEST_P(KernelsTile, AMissingBarrierIsARace) {
  const LinearCase c = test::exact_case({4, 2, 160, 32, 2}, 14);
  const std::string entry = ".visible .entry " + std::string(GetParam().name) + "(";
  const std::string barrier = "bar.sync";
  const std::size_t begin = GetParam().ptx.find(entry);
  const std::size_t end = GetParam().ptx.find(".visible", begin + 1);
  int barriers = 0;
  for (std::size_t at = begin; (at = GetParam().ptx.find(barrier, at + 1)) < end; ++barriers) {
    std::string text(GetParam().ptx);
    text.replace(at, 0, "//");
    const LinearRun run =
        test::run_linear(GetParam(), c, *device_, [&](KernelLaunch& launch) { launch.ptx = text; });
    bool raced = false;
    for (const ptx::Finding& finding : run.outcome.findings) {
      raced = raced || finding.check == ptx::Check::kSharedRace;
    }
    EXPECT_TRUE(raced) << "barrier " << barriers << describe(run.outcome);
  }
  EXPECT_EQ(barriers, 2);
}

std::vector<Variant> variants_with(std::string_view word) {
  std::vector<Variant> found;
  for (const Variant& variant : variants()) {
    const bool linear = variant.op == "expert_linear";
    if (linear && variant.name.find(word) != std::string_view::npos) found.push_back(variant);
  }
  return found;
}

const auto kName = [](const auto& variant) { return std::string(variant.param.name); };
INSTANTIATE_TEST_SUITE_P(All, KernelsLinear, testing::ValuesIn(variants_with("")), kName);
INSTANTIATE_TEST_SUITE_P(All, KernelsTile, testing::ValuesIn(variants_with("_tile_")), kName);

}  // namespace
}  // namespace moe4::gpu
