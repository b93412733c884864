// Clusters: mbarriers of other blocks, and copies that reach several of them. In each pipeline one step is
// then left out.
#include <gtest/gtest.h>

#include <cstring>

#include "gpu/ptx/tensor_map.h"
#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " occurs twice";
  return text.replace(at, from.size(), to);
}

Trial trial_of(std::string text) {
  Trial trial{std::move(text), {input("in", 4096), output("out", 4096)}};
  trial.grid = {2, 1, 1};
  trial.cluster = Dim3{2, 1, 1};
  return trial;
}

void expect_clean_for_seeds(Trial trial, int seeds = 20) {
  for (int seed = 0; seed < seeds; ++seed) {
    if (seed != 0) trial.options.schedule = static_cast<std::uint64_t>(seed);
    const LaunchReport report = run(trial);
    expect_clean(report);
    if (!report.findings.empty()) return;
  }
}

bool has(const LaunchReport& report, Check check, std::string_view says = "") {
  for (const Finding& finding : report.findings) {
    if (finding.check == check && finding.message.find(says) != std::string::npos) return true;
  }
  return false;
}

// An mbarrier in each block, initialised for %r20 arrivals and made known to the cluster; %r3 its address,
// %r2 the rank, %r4 that of the other block, %p1: not thread 0, %p2: not block 0.
std::string prologue(const std::string& arrivals) {
  return R"(
.shared .align 128 .b8 tile[512];
.shared .align 8 .b8 full[8];
mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, full; mov.u32 %r5, tile; xor.b32 %r4, %r2, 1;
setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r2, 0; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r3], )" +
         arrivals + R"(;  // INIT
fence.mbarrier_init.release.cluster;  // INIT_FENCE
READY:
barrier.cluster.arrive.relaxed.aligned;  // ARRIVE
barrier.cluster.wait.acquire.aligned;  // WAIT
)";
}
const std::string kWaitForFull = R"(
TRY:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r3], 0;  // TRY
@!%p3 bra TRY;
)";
const std::string kLeave = R"(
barrier.cluster.arrive.release.aligned;  // LEAVE
barrier.cluster.wait.acquire.aligned;  // LEFT
ret;)";
// out[block][tid] = tile[tid] of 32 words.
const std::string kWriteTile = R"(
shl.b32 %r10, %r1, 2; add.u32 %r11, %r5, %r10; ld.shared.u32 %r12, [%r11];  // READ
mad.lo.u32 %r13, %r2, 128, %r10; cvt.u64.u32 %rd3, %r13; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r12;
)";

// The threads of block 1 store into block 0 and arrive at its mbarrier; block 0 waits and reads.
std::string arrivals_text() {
  return kernel(".param .u64 in, .param .u64 out", prologue("32") + R"(
@!%p2 bra CONSUME;
mapa.shared::cluster.u32 %r6, %r3, %r4; mapa.shared::cluster.u32 %r7, %r5, %r4;
shl.b32 %r8, %r1, 2; add.u32 %r7, %r7, %r8; mul.lo.u32 %r9, %r1, 3;
st.shared::cluster.u32 [%r7], %r9;  // STORE
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];  // SIGNAL
bra.uni LEAVE;
CONSUME:
)" + kWaitForFull + kWriteTile + R"(
LEAVE:
)" + kLeave);
}

TEST(ClusterAsync, ArrivalsAtAnotherBlocksMbarrier) {
  expect_clean_for_seeds(trial_of(arrivals_text()));
  const Trial early =
      trial_of(replaced(arrivals_text(), "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];",
                        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r6];"));
  EXPECT_TRUE(has(run(early), Check::kSharedRace, "another block of the cluster"));
  const Trial few =
      trial_of(replaced(arrivals_text(), "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];",
                        "@%p1 mbarrier.arrive.shared::cluster.b64 _, [%r6];"));
  EXPECT_TRUE(has(run(few), Check::kBarrierDeadlock, "lacks 1 of 32 arrivals"));
  const Trial state = trial_of(
      replaced(arrivals_text(), "shared::cluster.b64 _, [%r6];", "shared::cluster.b64 %rd7, [%r6];"));
  EXPECT_TRUE(has(run(state), Check::kMbarrier, "without a state"));
}

TEST(ClusterAsync, TheInitialisationMustBeKnownToTheCluster) {
  // A relaxed arrival makes nothing known but what fence.mbarrier_init has released.
  for (const auto& [from, to] :
       {std::pair{"fence.mbarrier_init.release.cluster;  // INIT_FENCE", ""},
        std::pair{"fence.mbarrier_init.release.cluster;  // INIT_FENCE", "fence.proxy.async;"}}) {
    EXPECT_TRUE(
        has(run(trial_of(replaced(arrivals_text(), from, to))), Check::kSharedRace, "its initialisation"));
  }
  // With a release the barrier itself does it.
  std::string text = replaced(arrivals_text(), "fence.mbarrier_init.release.cluster;  // INIT_FENCE", "");
  text = replaced(text, "barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.arrive.aligned;");
  expect_clean_for_seeds(trial_of(text), 5);
  // Without any barrier.
  text = replaced(arrivals_text(), "barrier.cluster.arrive.relaxed.aligned;  // ARRIVE", "");
  text = replaced(text, "barrier.cluster.wait.acquire.aligned;  // WAIT", "");
  EXPECT_FALSE(run(trial_of(text)).findings.empty());
}

TEST(ClusterAsync, AsynchronousStores) {
  const auto text = [](const std::string& expected) {
    return kernel(".param .u64 in, .param .u64 out", prologue("1") + R"(
@!%p2 bra CONSUME;
mapa.shared::cluster.u32 %r6, %r3, %r4; mapa.shared::cluster.u32 %r7, %r5, %r4;
shl.b32 %r8, %r1, 2; add.u32 %r7, %r7, %r8; mul.lo.u32 %r9, %r1, 5;
st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r9, [%r6];  // SEND
bra.uni LEAVE;
CONSUME:
@%p1 bra TRY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], )" + expected +
                                                         R"(;  // EXPECT
)" + kWaitForFull + kWriteTile + R"(
LEAVE:
)" + kLeave);
  };
  const Trial good = trial_of(text("128"));
  expect_clean_for_seeds(good);
  const Module module = parse_valid(good.text);
  Memory memory;
  const std::uint64_t in = memory.add_zeroed("in", 16), out = memory.add_output("out", 256);
  expect_clean(
      launch(module, memory,
             {"kernel", {2, 1, 1}, {32, 1, 1}, 0, Arguments().u64(in).u64(out).bytes(), Dim3{2, 1, 1}}, {}));
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(read_all<std::uint32_t>(memory, out, 32)[i], 5 * i);
  EXPECT_TRUE(has(run(trial_of(text("132"))), Check::kBarrierDeadlock, "4 bytes of transactions"));
  const Trial unawaited = trial_of(replaced(text("128"), "@!%p3 bra TRY;", ""));
  EXPECT_TRUE(has(run(unawaited), Check::kSharedRace, "st.async"));
}

// Block 0 copies its tile into block 1's, where an mbarrier of block 1 completes it.
std::string copy_text() {
  return kernel(".param .u64 in, .param .u64 out", prologue("1") + R"(
@%p2 bra CONSUME;
shl.b32 %r8, %r1, 2; add.u32 %r8, %r5, %r8; mul.lo.u32 %r9, %r1, 7;
st.shared.u32 [%r8], %r9;  // FILL
fence.proxy.async.shared::cta;  // PROXY
bar.sync 0;  // BLOCK
@%p1 bra LEAVE;
mapa.shared::cluster.u32 %r6, %r3, %r4; mapa.shared::cluster.u32 %r7, %r5, %r4;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r5], 128, [%r6];  // COPY
bra.uni LEAVE;
CONSUME:
@%p1 bra TRY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;  // EXPECT
)" + kWaitForFull + kWriteTile + R"(
LEAVE:
)" + kLeave);
}

TEST(ClusterAsync, CopiesBetweenSharedMemories) {
  const Trial good = trial_of(copy_text());
  expect_clean_for_seeds(good);
  const Module module = parse_valid(good.text);
  Memory memory;
  const std::uint64_t in = memory.add_zeroed("in", 16), out = memory.add_output("out", 256);
  expect_clean(
      launch(module, memory,
             {"kernel", {2, 1, 1}, {32, 1, 1}, 0, Arguments().u64(in).u64(out).bytes(), Dim3{2, 1, 1}}, {}));
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(read_all<std::uint32_t>(memory, out, 64)[32 + i], 7 * i);
  const Trial unfenced = trial_of(replaced(copy_text(), "fence.proxy.async.shared::cta;  // PROXY", ""));
  expect_finding(unfenced, run(unfenced), Check::kProxyFence, "// COPY");
  const Trial unordered = trial_of(replaced(copy_text(), "bar.sync 0;  // BLOCK", ""));
  EXPECT_TRUE(has(run(unordered), Check::kSharedRace));
  // The source is written again while the copy reads it.
  const Trial reused = trial_of(
      replaced(copy_text(), "[%r6];  // COPY", "[%r6];  // COPY\nst.shared.u32 [%r5], 1;  // AGAIN"));
  EXPECT_TRUE(has(run(reused), Check::kSharedRace, "bulk copy to another block"));
  const Trial own = trial_of(replaced(copy_text(), "[%r5], 128, [%r6];", "[%r5], 128, [%r3];"));
  EXPECT_TRUE(has(run(own), Check::kMbarrier, "is to complete on an mbarrier of block"));
}

// Block 0 loads one box of a tensor into both blocks; each expects its bytes on an mbarrier of its own.
std::string multicast_text() {
  return kernel(
      ".param .align 64 .b8 map[128], .param .u64 out",
      replaced(prologue("1"), "ld.param.u64 %rd1, [in];", "mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;") +
          R"(
@%p1 bra TRY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;  // EXPECT
@%p2 bra TRY;
mov.b16 %h1, 3;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd1, {0, 1}], [%r3], %h1;  // COPY
)" + kWaitForFull +
          kWriteTile + kLeave);
}

LaunchReport multicast(const std::string& text, std::vector<std::uint32_t>* got = nullptr,
                       std::uint64_t seed = 0) {
  const Module module = parse_valid(text);
  std::vector<std::uint32_t> tensor(64);
  for (std::uint32_t i = 0; i < 64; ++i) tensor[i] = 100 + i;
  Memory memory;
  TensorMap map;
  map.address = memory.add_input("in", std::as_bytes(std::span(tensor)));
  map.element_bytes = 4;
  map.dims = {16, 4};
  map.strides = {4, 64};
  map.box = {16, 2};
  const std::uint64_t out = memory.add_output("out", 256);
  std::vector<std::byte> parameters(136);
  const TensorMapBytes bytes = encode(map);
  std::memcpy(parameters.data(), bytes.data(), bytes.size());
  std::memcpy(parameters.data() + 128, &out, 8);
  Options options;
  if (seed != 0) options.schedule = seed;
  LaunchReport report =
      launch(module, memory, {"kernel", {2, 1, 1}, {32, 1, 1}, 0, parameters, Dim3{2, 1, 1}}, options);
  if (got != nullptr) *got = read_all<std::uint32_t>(memory, out, 64);
  return report;
}

TEST(ClusterAsync, Multicast) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::uint32_t> got;
    expect_clean(multicast(multicast_text(), &got, seed));
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], 116 + i % 32) << i;
  }
}

TEST(ClusterAsync, MulticastWithAStepMissing) {
  const auto with = [](std::string_view from, std::string_view to) {
    return multicast(replaced(multicast_text(), from, to));
  };
  // Block 1 does not expect the bytes: it never sees its phase end, or sees it end too early.
  EXPECT_TRUE(has(with("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;  // EXPECT",
                       "@!%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;"),
                  Check::kBarrierDeadlock, "128 bytes more were copied than expected"));
  EXPECT_TRUE(has(with("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;  // EXPECT",
                       "@!%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;\n"
                       "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r3];"),
                  Check::kSharedRace, "another block of the cluster"));
  EXPECT_TRUE(
      has(with("mov.b16 %h1, 3;", "mov.b16 %h1, 1;"), Check::kBarrierDeadlock, "128 bytes of transactions"));
  EXPECT_TRUE(has(with("mov.b16 %h1, 3;", "mov.b16 %h1, 7;"), Check::kInvalidOperand, "a cluster of 2"));
  EXPECT_TRUE(has(with("mov.b16 %h1, 3;", "mov.b16 %h1, 0;"), Check::kInvalidOperand));
  // The other block's mbarrier need not be there yet.
  std::string text =
      replaced(multicast_text(), "barrier.cluster.arrive.relaxed.aligned;  // ARRIVE", "bar.sync 0;");
  text = replaced(text, "barrier.cluster.wait.acquire.aligned;  // WAIT", "");
  EXPECT_FALSE(multicast(text).findings.empty());
  // Block 1 leaves without having waited for its copy.
  text = replaced(multicast_text(), "TRY:\n", "TRY:\n@%p2 bra LEAVE;\n");
  text = replaced(text, "barrier.cluster.arrive.release.aligned;  // LEAVE",
                  "LEAVE:\nbarrier.cluster.arrive.release.aligned;");
  EXPECT_TRUE(has(multicast(text), Check::kAsyncPending, "bulk load"));
}

}  // namespace
}  // namespace moe4::ptx::test
