// The executor as a Device: arguments, errors, and what it says of written, mutated and unwritten memory.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "gpu/device/device.h"

namespace moe4::gpu {
namespace {

// out[tid] of 32 threads, computed by `body` into %r1; %rd1 is `in`, %rd2 `out`, %r2 the scalar, %r3 tid,
// %rd3 4·tid.
std::string kernel(const std::string& body) {
  return R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out, .param .u32 scalar)
{
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .reg .pred %p<4>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r2, [scalar];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %rd3, %r3, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
)" + body +
         R"(
  ret;
}
)";
}

const std::string kCopyPlusScalar = kernel(R"(
  ld.global.u32 %r1, [%rd4];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd5], %r1;)");

class DeviceExecutor : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t n = 0; n < 32; ++n) input_[n] = 100 + n;
    add_buffers();
  }

  void add_buffers() {
    in_ = device_->add_input("in", std::as_bytes(std::span(input_)));
    out_ = device_->add_output("out", 128);
  }

  KernelLaunch launch_of(const std::string& text) {
    KernelLaunch launch;
    launch.ptx = text;
    launch.module_name = "test";
    launch.entry = "kernel";
    launch.block = {32, 1, 1};
    launch.arguments = {
        {Argument::Kind::kBuffer, in_, 0}, {Argument::Kind::kBuffer, out_, 0}, {Argument::Kind::kU32, {}, 7}};
    return launch;
  }

  LaunchOutcome run(const std::string& text) { return device_->launch(launch_of(text), {}); }

  std::vector<std::uint32_t> output() {
    std::vector<std::uint32_t> values(32);
    device_->read(out_, std::as_writable_bytes(std::span(values)));
    return values;
  }

  static bool has(const LaunchOutcome& outcome, ptx::Check check) {
    for (const ptx::Finding& finding : outcome.findings) {
      if (finding.check == check) return true;
    }
    return false;
  }

  static std::string describe(const LaunchOutcome& outcome) {
    std::string text = outcome.error.value_or("");
    for (const ptx::Finding& finding : outcome.findings) text += "\n" + ptx::to_string(finding);
    return text;
  }

  std::unique_ptr<Device> device_ = make_executor_device();
  std::array<std::uint32_t, 32> input_{};
  BufferId in_, out_;
};

TEST_F(DeviceExecutor, PassesBuffersAndScalars) {
  const LaunchOutcome outcome = run(kCopyPlusScalar);
  EXPECT_EQ(describe(outcome), "");
  EXPECT_TRUE(outcome.completed);
  EXPECT_EQ(outcome.counters.thread_instructions, 32u * 13);
  for (std::uint32_t n = 0; n < 32; ++n) EXPECT_EQ(output()[n], 107 + n);
  EXPECT_EQ(device_->written(out_), std::vector<bool>(128, true));
  EXPECT_TRUE(device_->inputs_unchanged());
}

TEST_F(DeviceExecutor, BuffersOutliveALaunchAndEndAtReset) {
  EXPECT_EQ(describe(run(kCopyPlusScalar)), "");
  KernelLaunch again = launch_of(kCopyPlusScalar);
  again.arguments[0].buffer = out_;  // in place, on what the first launch wrote
  EXPECT_EQ(describe(device_->launch(again, {})), "");
  EXPECT_EQ(output()[5], 100u + 5 + 7 + 7);
  device_->reset();
  add_buffers();
  EXPECT_EQ(device_->written(out_), std::vector<bool>(128, false));
}

// A 2-D box of the buffer `in` as 8 × 4 words, its second half, by a map that carries no address: the device
// puts it in.
TEST_F(DeviceExecutor, PassesATensorMapOfABuffer) {
  const std::string text = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 scalar)
{
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .reg .pred %p<4>;
  .shared .align 128 .b8 tile[128];
  .shared .align 8 .b8 full[8];
  mov.b64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  ld.param.u64 %rd3, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  mov.u32 %r3, full;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
READY:
  bar.sync 0;
  @%p1 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd2, {0, 2}], [%r3];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
  @!%p2 bra WAIT;
  shl.b32 %r4, %r1, 2;
  add.u32 %r5, %r2, %r4;
  ld.shared.u32 %r6, [%r5];
  cvt.u64.u32 %rd4, %r4;
  add.u64 %rd5, %rd3, %rd4;
  st.global.u32 [%rd5], %r6;
  ret;
}
)";
  KernelLaunch launch = launch_of(text);
  Argument& map = launch.arguments[0];
  map.kind = Argument::Kind::kTensorMap;
  map.buffer = in_;
  map.map.element_bytes = 4;
  map.map.rank = 2;
  map.map.dims = {8, 4};
  map.map.strides = {4, 32};
  map.map.box = {8, 4};
  const LaunchOutcome outcome = device_->launch(launch, {});
  EXPECT_EQ(describe(outcome), "");
  // Rows 2 and 3, then two that lie outside.
  for (std::uint32_t n = 0; n < 32; ++n) EXPECT_EQ(output()[n], n < 16 ? 116 + n : 0) << n;

  map.map.box = {8, 2};
  EXPECT_TRUE(has(device_->launch(launch, {}), ptx::Check::kBarrierDeadlock));
  map.map.strides = {4, 40};
  EXPECT_TRUE(has(device_->launch(launch, {}), ptx::Check::kInvalidOperand));
  launch.arguments[0] = {Argument::Kind::kBuffer, in_, 0};
  EXPECT_NE(device_->launch(launch, {}).error.value_or("").find("(map) has 128 bytes"), std::string::npos);
}

TEST_F(DeviceExecutor, ErrorsNameWhatIsWrong) {
  KernelLaunch launch = launch_of(kCopyPlusScalar);
  launch.entry = "other";
  EXPECT_NE(device_->launch(launch, {}).error.value_or("").find("no entry other"), std::string::npos);

  launch = launch_of(kCopyPlusScalar);
  launch.arguments.pop_back();
  EXPECT_NE(device_->launch(launch, {}).error.value_or("").find("3 parameters"), std::string::npos);

  launch = launch_of(kCopyPlusScalar);
  launch.arguments[2].kind = Argument::Kind::kU64;
  EXPECT_NE(device_->launch(launch, {}).error.value_or("").find("(scalar) has 4 bytes"), std::string::npos);

  EXPECT_TRUE(run("this is not PTX").error);
  EXPECT_FALSE(run("this is not PTX").unsupported);

  const LaunchOutcome none = run("");
  EXPECT_TRUE(none.error);
  EXPECT_TRUE(none.unsupported);

  launch = launch_of(kCopyPlusScalar);
  launch.grid.x = 0xFFFFFFFFu;
  EXPECT_TRUE(device_->launch(launch, {}).error);
}

TEST_F(DeviceExecutor, WithoutChecksUnwrittenMemoryIsNotLookedFor) {
  const std::string text = kernel(R"(
  ld.global.u32 %r1, [%rd5];
  st.global.u32 [%rd5], %r1;)");
  LaunchSettings settings;
  settings.poison = std::byte{0xA5};
  settings.checks = false;
  EXPECT_EQ(describe(device_->launch(launch_of(text), settings)), "");
  EXPECT_EQ(output()[3], 0xA5A5A5A5u);
}

TEST_F(DeviceExecutor, UnwrittenBytesAreNamed) {
  const LaunchOutcome outcome = run(kernel(R"(
  setp.eq.u32 %p1, %r3, 9;
  @%p1 ret;
  st.global.u16 [%rd5], 5;
  st.global.u16 [%rd5+2], 5;)"));
  EXPECT_EQ(describe(outcome), "");
  const std::vector<bool> written = device_->written(out_);
  ASSERT_EQ(written.size(), 128u);
  for (std::size_t n = 0; n < 128; ++n) EXPECT_EQ(written[n], n / 4 != 9) << n;
}

TEST_F(DeviceExecutor, AStoreToAnInputIsAFinding) {
  const auto before = input_;
  const LaunchOutcome outcome = run(kernel(R"(
  st.global.u32 [%rd5], %r3;
  st.global.u32 [%rd4], %r3;)"));
  EXPECT_TRUE(has(outcome, ptx::Check::kInputWritten));
  EXPECT_FALSE(device_->inputs_unchanged());
  EXPECT_EQ(input_, before);
  device_->reset();
  add_buffers();
  EXPECT_TRUE(device_->inputs_unchanged());
}

TEST_F(DeviceExecutor, AnOutputThatDependsOnUnwrittenMemoryIsAFinding) {
  const LaunchOutcome outcome = run(kernel(R"(
  ld.global.u32 %r1, [%rd5];
  and.b32 %r1, %r1, 1;
  st.global.u32 [%rd5], %r1;)"));
  ASSERT_TRUE(has(outcome, ptx::Check::kUninitialized)) << describe(outcome);
  EXPECT_NE(outcome.findings[0].place.instruction.find("ld.global.u32"), std::string::npos);
}

TEST_F(DeviceExecutor, AnUnwrittenValueThatReachesNothingIsNone) {
  const LaunchOutcome outcome = run(kernel(R"(
  ld.global.u32 %r1, [%rd5];
  and.b32 %r1, %r1, 0;
  st.global.u32 [%rd5], %r1;)"));
  EXPECT_EQ(describe(outcome), "");
}

TEST_F(DeviceExecutor, ABranchOnUnwrittenMemoryIsAFinding) {
  const LaunchOutcome outcome = run(kernel(R"(
  ld.global.u32 %r1, [%rd5];
  setp.lt.s32 %p1, %r1, 0;
  @%p1 bra NEGATIVE;
  mov.u32 %r4, 1;
  bra.uni STORE;
NEGATIVE:
  mov.u32 %r4, 2;
  bra.uni STORE;
STORE:
  st.global.u32 [%rd5], %r3;)"));
  EXPECT_TRUE(has(outcome, ptx::Check::kUninitialized)) << describe(outcome);
}

TEST_F(DeviceExecutor, ASharedValueThatNothingWroteIsAFinding) {
  const std::string body = R"(
  .shared .align 4 .b8 tile[128];
  mov.u32 %r5, tile;
  shl.b32 %r6, %r3, 2;
  add.u32 %r5, %r5, %r6;
  WRITE
  ld.shared.u32 %r1, [%r5];
  st.global.u32 [%rd5], %r1;)";
  for (const bool written : {false, true}) {
    std::string text = kernel(body);
    text.replace(text.find("WRITE"), 5, written ? "st.shared.u32 [%r5], %r3;" : "");
    device_->reset();
    add_buffers();
    const LaunchOutcome outcome = run(text);
    EXPECT_EQ(has(outcome, ptx::Check::kUninitialized), !written) << describe(outcome);
  }
}

TEST_F(DeviceExecutor, AnAccessOutsideABufferIsAFinding) {
  const LaunchOutcome outcome = run(kernel(R"(
  ld.global.u32 %r1, [%rd4+4];
  st.global.u32 [%rd5], %r1;)"));
  EXPECT_TRUE(has(outcome, ptx::Check::kOutOfBounds)) << describe(outcome);
}

}  // namespace
}  // namespace moe4::gpu
