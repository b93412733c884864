// The CUDA device over the fake driver: what a launch does, and what each failure of driver and kernel comes
// to.
#include "gpu/device/cuda_device.h"

#include <gtest/gtest.h>

#include <array>

#include "gpu/device/cuda_tensor_map.h"
#include "tests/gpu/cuda/fake_driver.h"

namespace moe4::gpu {
namespace {

constexpr std::uint32_t kWords = 40;

class CudaDeviceTest : public testing::Test {
 protected:
  void open(const std::string& words = "") {
    use_fake_driver(words);
    device_.reset();
    MadeCudaDevice made = make_cuda_device();
    ASSERT_NE(made.device, nullptr) << made.error;
    device_ = std::move(made.device);
    for (std::uint32_t n = 0; n < kWords; ++n) input_[n] = static_cast<std::uint16_t>(100 + n);
    place();
  }
  void place() {
    in_ = device_->add_input("in", std::as_bytes(std::span(input_)));
    out_ = device_->add_output("out", 2 * kWords);
  }
  static std::string refusal(const std::string& words) {
    use_fake_driver(words);
    return make_cuda_device().error;
  }

  KernelLaunch launch_of(const std::string& text, std::uint32_t words = kWords) const {
    KernelLaunch launch;
    launch.ptx = text;
    launch.module_name = "copy.ptx";
    launch.entry = "copy";
    launch.block = {32, 1, 1};
    launch.grid = {2, 1, 1};
    launch.arguments = {{Argument::Kind::kBuffer, in_, 0},
                        {Argument::Kind::kBuffer, out_, 0},
                        {Argument::Kind::kU32, {}, words}};
    return launch;
  }
  LaunchOutcome run(const std::string& text, std::uint32_t words = kWords) {
    text_ = text;
    LaunchSettings settings;
    settings.time_limit = std::chrono::milliseconds(300);
    return device_->launch(launch_of(text_, words), settings);
  }
  static std::string described(const LaunchOutcome& outcome) {
    std::string text = outcome.error.value_or("");
    for (const ptx::Finding& finding : outcome.findings)
      text += (text.empty() ? "" : "\n") + ptx::to_string(finding);
    return text;
  }

  std::unique_ptr<Device> device_;
  std::array<std::uint16_t, kWords> input_{};
  BufferId in_, out_;
  std::string text_;
};

TEST_F(CudaDeviceTest, ALaunchWritesItsOutput) {
  open();
  const LaunchOutcome outcome = run(copy_kernel());
  EXPECT_EQ(described(outcome), "");
  EXPECT_TRUE(outcome.completed);
  std::array<std::uint16_t, kWords> output{};
  device_->read(out_, std::as_writable_bytes(std::span(output)));
  EXPECT_EQ(output, input_);
  EXPECT_EQ(device_->written(out_), std::vector<bool>(2 * kWords, true));
  EXPECT_TRUE(device_->inputs_unchanged());
  EXPECT_EQ(device_->name(), "cuda:0 no GPU: the fake driver of moe4's tests");
  EXPECT_EQ(device_->identity().device, "cuda");
  EXPECT_NE(device_->identity().driver.find("CUDA 13.0"), std::string::npos);
}

// 0xFFFF, the pattern of one run, is written like any other number.
TEST_F(CudaDeviceTest, UnwrittenBytesAreThoseThatKeepBothPatterns) {
  open();
  input_[3] = 0xFFFF;
  input_[4] = 0x5A5A;
  const LaunchOutcome outcome =
      run(copy_kernel("setp.eq.u32 %p2, %r5, 7;\n@%p2 bra DONE;\nst.global.u16 [%rd5], %h1;"));
  EXPECT_EQ(described(outcome), "");
  const std::vector<bool> written = device_->written(out_);
  for (std::size_t n = 0; n < written.size(); ++n) EXPECT_EQ(written[n], n / 2 != 7) << n;
}

TEST_F(CudaDeviceTest, ASecondLaunchGoesOnFromTheFirst) {
  open();
  EXPECT_EQ(described(run(copy_kernel(), 10)), "");
  EXPECT_EQ(
      described(run(
          copy_kernel("ld.global.u16 %h2, [%rd5];\nadd.u16 %h1, %h1, %h2;\nst.global.u16 [%rd5], %h1;"), 10)),
      "");
  std::array<std::uint16_t, kWords> output{};
  device_->read(out_, std::as_writable_bytes(std::span(output)));
  EXPECT_EQ(output[9], 2 * input_[9]);
  EXPECT_FALSE(device_->written(out_)[20]);
}

TEST_F(CudaDeviceTest, AStoreBehindTheEndIsSeenInTheGuard) {
  open();
  const LaunchOutcome outcome = run(copy_kernel("st.global.u16 [%rd5+4], %h1;"));
  ASSERT_EQ(outcome.findings.size(), 1u) << described(outcome);
  EXPECT_EQ(outcome.findings[0].check, ptx::Check::kOutOfBounds);
  EXPECT_EQ(described(outcome),
            "out-of-bounds in copy: a store 0 bytes behind the end of out (80 bytes); 2 times");
}

TEST_F(CudaDeviceTest, AStoreBeforeTheBeginIsSeenInTheGuard) {
  open();
  EXPECT_EQ(
      described(run(copy_kernel("st.global.u16 [%rd5], %h1;\nst.global.u16 [%rd4-2], %h1;"))).substr(0, 63),
      "out-of-bounds in copy: a store 2 bytes before the begin of in (");
}

TEST_F(CudaDeviceTest, AStoreIntoAnInputIsSeen) {
  open();
  const LaunchOutcome outcome = run(copy_kernel("st.global.u16 [%rd5], %h1;\nst.global.u16 [%rd4], 7;"));
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings[0].check, ptx::Check::kInputWritten) << described(outcome);
  EXPECT_FALSE(device_->inputs_unchanged());
  device_->reset();
  place();
  EXPECT_TRUE(device_->inputs_unchanged());
}

TEST_F(CudaDeviceTest, WhatFollowsUnwrittenMemoryIsAFinding) {
  open();
  const LaunchOutcome stale =
      run(copy_kernel("ld.global.u16 %h2, [%rd5];\nand.b16 %h2, %h2, 1;\nst.global.u16 [%rd5], %h2;"));
  ASSERT_EQ(stale.findings.size(), 1u) << described(stale);
  EXPECT_EQ(stale.findings[0].check, ptx::Check::kUninitialized);
  // Beyond the end of the input lies the guard, which follows the pattern.
  const LaunchOutcome beyond = run(copy_kernel("ld.global.u16 %h1, [%rd4+2];\nst.global.u16 [%rd5], %h1;"));
  ASSERT_EQ(beyond.findings.size(), 1u) << described(beyond);
  EXPECT_EQ(beyond.findings[0].check, ptx::Check::kUninitialized);
  EXPECT_EQ(described(run(
                copy_kernel("ld.global.u16 %h2, [%rd5];\nand.b16 %h2, %h2, 0;\nst.global.u16 [%rd5], %h2;"))),
            "")
      << "a stale read that changes nothing";
}

TEST_F(CudaDeviceTest, AFaultTakesTheContext) {
  const std::pair<std::string, std::string> faults[] = {
      {"st.global.u16 [%rd5+1000000000], %h1;", "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {"st.global.u32 [%rd5+1], %r1;", "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {"trap;", "CUDA_ERROR_LAUNCH_FAILED"}};
  for (const auto& [body, words] : faults) {
    open();
    const LaunchOutcome outcome = run(copy_kernel(body));
    EXPECT_TRUE(outcome.crashed && !outcome.completed) << body;
    EXPECT_EQ(described(outcome), "copy: " + words);
    const LaunchOutcome later = run(copy_kernel());
    EXPECT_TRUE(later.crashed);
    EXPECT_NE(described(later).find("the context was lost"), std::string::npos);
  }
}

TEST_F(CudaDeviceTest, OnlyFaultsOfRunningKernelsAreFatal) {
  for (const CudaStatus fault : {700, 702, 709, 710, 714, 715, 716, 717, 718, 719})
    EXPECT_TRUE(kills_context(fault)) << fault;
  // Too many resources, a cooperative grid too large, no permission, what a capture refuses.
  for (const CudaStatus refusal : {0, 1, 2, 209, 600, 701, 704, 720, 800, 900})
    EXPECT_FALSE(kills_context(refusal)) << refusal;
}

TEST_F(CudaDeviceTest, AKernelWithoutAnEndIsStopped) {
  open("budget=20000");
  const LaunchOutcome outcome = run(copy_kernel("LOOP:\nbra LOOP;"));
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(described(outcome), "copy did not end within 300 ms");
  EXPECT_TRUE(run(copy_kernel()).crashed);
}

TEST_F(CudaDeviceTest, WithoutADeviceItSaysWhy) {
  ::setenv("MOE4_CUDA_DRIVER", "/no/such/libcuda.so", 1);
  EXPECT_NE(make_cuda_device().error.find("no device: the CUDA driver cannot be opened: "),
            std::string::npos);
  EXPECT_NE(make_cuda_device({"libdl.so.2", 0}).error.find("has no cuInit: the driver is too old"),
            std::string::npos);
  EXPECT_EQ(refusal("no-device"), "no device: cuInit: CUDA_ERROR_NO_DEVICE");
  EXPECT_EQ(refusal("driver=11080"),
            "no device: the driver speaks CUDA 11.8; CUDA 12.0 is the oldest that serves here");
  EXPECT_NE(refusal("no-context").find("cannot be made: CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos);
  use_fake_driver();
  EXPECT_EQ(make_cuda_device({"", 3}).error, "no device: number 3 of 1 GPUs does not exist");
}

TEST_F(CudaDeviceTest, WhatTheChipCannotDoIsUnsupported) {
  open("memory=1");
  BufferId large = device_->add_output("large", 8 << 20);
  (void)large;
  const LaunchOutcome memory = run(copy_kernel());
  EXPECT_TRUE(memory.unsupported);
  EXPECT_NE(described(memory).find("out of memory: large takes 8388608 bytes, "), std::string::npos)
      << described(memory);
  device_->reset();
  place();
  EXPECT_EQ(described(run(copy_kernel())), "") << "there is room for what fits";

  open("arch=80");
  const LaunchOutcome other = run(copy_kernel());
  EXPECT_TRUE(other.unsupported);
  EXPECT_NE(described(other).find("compiled for compute_90a, which "), std::string::npos) << described(other);
  EXPECT_NE(described(other).find("(sm_80) cannot run"), std::string::npos) << described(other);

  open("refuse-ptx");
  const LaunchOutcome newer = run(copy_kernel());
  EXPECT_TRUE(newer.unsupported);
  EXPECT_NE(described(newer).find("the driver speaks CUDA 13.0, older than the compiler"), std::string::npos)
      << described(newer);

  open();
  KernelLaunch shared = launch_of(copy_kernel());
  const std::string text = copy_kernel();
  shared.ptx = text;
  shared.dynamic_shared_bytes = 300000;
  EXPECT_TRUE(device_->launch(shared, {}).unsupported);
  shared.dynamic_shared_bytes = 0;
  shared.block = {2048, 1, 1};
  EXPECT_NE(described(device_->launch(shared, {})).find("2048 threads a block, at most 1024"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, ErrorsNameWhatIsWrong) {
  open();
  EXPECT_NE(described(run("no PTX")).find("copy.ptx: "), std::string::npos);
  EXPECT_TRUE(run("").unsupported);
  const std::string text = copy_kernel();
  KernelLaunch launch = launch_of(text);
  launch.entry = "other";
  EXPECT_EQ(described(device_->launch(launch, {})), "copy.ptx: no entry other");
  launch = launch_of(text);
  launch.arguments.pop_back();
  EXPECT_NE(described(device_->launch(launch, {})).find("takes 3 parameters, the launch gives 2"),
            std::string::npos);
  launch = launch_of(text);
  launch.grid = {0xFFFFFFFFu, 1, 1};
  EXPECT_NE(described(device_->launch(launch, {})).find("the launch of copy: CUDA_ERROR_INVALID_VALUE"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, ClustersAndGridBarriersAreAskedFor) {
  open();
  const auto first = [&](const std::string& body, std::optional<ptx::Dim3> cluster, bool cooperative) {
    text_ = copy_kernel(body + "\ncvt.u16.u32 %h1, %r6;\nst.global.u16 [%rd5], %h1;");
    KernelLaunch launch = launch_of(text_);
    launch.cluster = cluster;
    launch.cooperative = cooperative;
    EXPECT_EQ(described(device_->launch(launch, {})), "");
    std::uint16_t value = 0;
    device_->read(out_, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  };
  const std::string blocks = "mov.u32 %r6, %cluster_nctarank;";
  EXPECT_EQ(first(blocks, std::nullopt, false), 1);
  EXPECT_EQ(first(blocks, ptx::Dim3{2, 1, 1}, false), 2);
  const std::string barrier =
      "mov.u32 %r6, %envreg1;\nmov.u32 %r7, %envreg2;\nor.b32 %r6, %r6, %r7;\nsetp.ne.u32 %p2, %r6, 0;\n"
      "selp.u32 %r6, 1, 0, %p2;";
  EXPECT_EQ(first(barrier, std::nullopt, true), 1);
  EXPECT_EQ(first(barrier, std::nullopt, false), 0);
}

// The driver makes of our description what the executor makes of it, the address in its place.
TEST_F(CudaDeviceTest, TensorMapsGoThroughTheDriver) {
  use_fake_driver();
  const OpenedCuda opened = open_cuda({});
  ASSERT_NE(opened.session, nullptr);
  ptx::TensorMap map;
  map.address = 0x10000;
  map.rank = 3;
  map.dims = {128, 7, 2};
  map.strides = {2, 256, 1792};
  map.box = {64, 8, 1};
  map.swizzle = ptx::Swizzle::k128B;
  std::string error;
  const auto bytes = encode_for_cuda(opened.session->driver(), map, &error);
  ASSERT_TRUE(bytes) << error;
  const std::optional<ptx::TensorMap> read = ptx::decode_tensor_map(*bytes);
  ASSERT_TRUE(read);
  map.element = ptx::MapElement::kU16;  // what the driver has to be told
  EXPECT_EQ(*read, map);
  map.box[0] = 300;
  EXPECT_FALSE(encode_for_cuda(opened.session->driver(), map, &error));
  EXPECT_NE(error.find("tensor map: "), std::string::npos);
}

}  // namespace
}  // namespace moe4::gpu
