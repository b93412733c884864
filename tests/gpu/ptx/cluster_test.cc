// Clusters: who is where, the cluster barrier, and shared memory of other blocks.
#include <gtest/gtest.h>

#include "gpu/ptx/uninitialized.h"
#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " occurs twice";
  return text.replace(at, from.size(), to);
}

LaunchReport run_in_clusters(const std::string& text, Dim3 grid, Dim3 cluster, std::uint64_t out_bytes,
                             std::vector<std::uint32_t>* out, const Options& options = {}) {
  const Module module = parse_valid(text);
  Memory memory;
  const std::uint64_t address = memory.add_output("out", out_bytes);
  Launch launch{"kernel", grid, {32, 1, 1}, 0, Arguments().u64(address).bytes(), cluster};
  LaunchReport report = launch_checked(module, memory, launch, options);
  if (out != nullptr) *out = read_all<std::uint32_t>(memory, address, out_bytes / 4);
  return report;
}

TEST(Cluster, RegistersSayWhereABlockIs) {
  // One thread of each block writes 16 words.
  std::string body = R"(
mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y; mov.u32 %r4, %ctaid.z; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y;
mad.lo.u32 %r7, %r4, %r6, %r3; mad.lo.u32 %r7, %r7, %r5, %r2; ld.param.u64 %rd1, [out];
mul.wide.u32 %rd2, %r7, 64; add.u64 %rd1, %rd1, %rd2;
mov.pred %p2, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p2; st.global.u32 [%rd1+56], %r9;
)";
  const char* names[] = {"%clusterid.x",     "%clusterid.y",      "%clusterid.z",      "%nclusterid.x",
                         "%nclusterid.y",    "%nclusterid.z",     "%cluster_ctaid.x",  "%cluster_ctaid.y",
                         "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
                         "%cluster_ctarank", "%cluster_nctarank"};
  for (int i = 0; i < 14; ++i) {
    body += std::string("mov.u32 %r8, ") + names[i] + "; st.global.u32 [%rd1+" + std::to_string(4 * i) +
            "], %r8;\n";
  }
  body += "DONE:\nret;";
  const std::string text = kernel(".param .u64 out", body);
  const Dim3 grid{4, 6, 2}, cluster{2, 3, 1};
  std::vector<std::uint32_t> got;
  expect_clean(run_in_clusters(text, grid, cluster, 48 * 64, &got));
  for (std::uint32_t z = 0; z < 2; ++z) {
    for (std::uint32_t y = 0; y < 6; ++y) {
      for (std::uint32_t x = 0; x < 4; ++x) {
        const std::uint32_t* at = got.data() + 16 * ((z * 6 + y) * 4 + x);
        const std::vector<std::uint32_t> want = {
            x / 2, y / 3, z, 2, 2, 2, x % 2, y % 3, 0, 2, 3, 1, y % 3 * 2 + x % 2, 6, 1};
        EXPECT_EQ(std::vector<std::uint32_t>(at, at + 15), want) << x << y << z;
      }
    }
  }
  // Without clusters a block is a cluster.
  const Module module = parse_valid(text);
  Memory memory;
  const std::uint64_t address = memory.add_output("out", 48 * 64);
  expect_clean(run(module, memory, grid, {32, 1, 1}, Arguments().u64(address)));
  const auto alone = read_all<std::uint32_t>(memory, address, 16 * 48);
  EXPECT_EQ(std::vector<std::uint32_t>(alone.end() - 16, alone.end() - 1),
            (std::vector<std::uint32_t>{3, 5, 1, 4, 6, 2, 0, 0, 0, 1, 1, 1, 0, 1, 0}));
}

// Each thread leaves a word in its block's tile and reads that of the next block.
const std::string& exchange_text() {
  static const std::string text = kernel(".param .u64 out", R"(
.shared .align 4 .b8 tile[128];
mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, %ctaid.x;
shl.b32 %r5, %r1, 2; mov.u32 %r6, tile; add.u32 %r6, %r6, %r5;
mad.lo.u32 %r7, %r4, 1000, %r1;
st.shared.u32 [%r6], %r7;  // STORE
barrier.cluster.arrive.release.aligned;  // ARRIVE
barrier.cluster.wait.acquire.aligned;  // WAIT
add.u32 %r8, %r2, 1; rem.u32 %r8, %r8, %r3;
mapa.shared::cluster.u32 %r9, %r6, %r8;
ld.shared::cluster.u32 %r10, [%r9];  // REMOTE
barrier.cluster.arrive.aligned;  // LEAVE
barrier.cluster.wait.aligned;  // LEFT
ld.param.u64 %rd1, [out]; mad.lo.u32 %r11, %r4, 32, %r1; mul.wide.u32 %rd2, %r11, 4; add.u64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r10;
ret;)");
  return text;
}

Trial exchange(std::string_view from = "", std::string_view to = "") {
  Trial trial{from.empty() ? exchange_text() : replaced(exchange_text(), from, to), {output("out", 8 * 128)}};
  trial.grid = {8, 1, 1};
  trial.cluster = Dim3{4, 1, 1};
  return trial;
}

TEST(Cluster, BlocksReadEachOthersSharedMemory) {
  for (const char* generic : {"", "mapa"}) {
    std::string text = exchange_text();
    if (*generic) {
      text = replaced(
          text, "mapa.shared::cluster.u32 %r9, %r6, %r8;",
          "cvt.u64.u32 %rd5, %r6; cvta.shared.u64 %rd5, %rd5; mapa.u64 %rd6, %rd5, %r8;\n"
          "getctarank.u64 %r9, %rd6; setp.ne.u32 %p1, %r9, %r8; @%p1 trap;\n"
          "isspacep.shared::cluster %p1, %rd6; @!%p1 trap; isspacep.shared::cta %p1, %rd6; @%p1 trap;\n"
          "isspacep.shared %p1, %rd5; @!%p1 trap; getctarank.u64 %r9, %rd5; setp.ne.u32 %p1, %r9, %r2;\n"
          "@%p1 trap;");
      text = replaced(text, "ld.shared::cluster.u32 %r10, [%r9];", "ld.u32 %r10, [%rd6];");
    }
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Options options;
      if (seed != 0) options.schedule = seed;
      std::vector<std::uint32_t> got;
      expect_clean(run_in_clusters(text, {8, 1, 1}, {4, 1, 1}, 8 * 128, &got, options));
      for (std::uint32_t i = 0; i < 256; ++i) {
        const std::uint32_t block = i / 32, next = block / 4 * 4 + (block + 1) % 4;
        EXPECT_EQ(got[i], next * 1000 + i % 32) << i;
      }
    }
  }
}

TEST(Cluster, ReportsAreTheSameForEveryNumberOfHostThreads) {
  const Trial good = exchange(), bad = exchange("barrier.cluster.wait.aligned;  // LEFT", "");
  for (Trial trial : {good, bad}) {
    trial.options.host_threads = 1;
    const LaunchReport one = run(trial);
    trial.options.host_threads = 5;
    const LaunchReport many = run(trial);
    EXPECT_EQ(as_text(one), as_text(many));
    EXPECT_EQ(one.counters.thread_instructions, many.counters.thread_instructions);
    EXPECT_EQ(one.path_hash, many.path_hash);
  }
}

TEST(Cluster, AMissingBarrierIsARace) {
  Trial none = exchange("barrier.cluster.arrive.release.aligned;  // ARRIVE", "");
  none.text = replaced(none.text, "barrier.cluster.wait.acquire.aligned;  // WAIT", "");
  for (Trial trial : {none, exchange("barrier.cluster.arrive.release.aligned;  // ARRIVE",
                                     "barrier.cluster.arrive.relaxed.aligned;")}) {
    bool found = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      if (seed != 0) trial.options.schedule = seed;
      for (const Finding& finding : run(trial).findings) {
        found = found || (finding.check == Check::kSharedRace && finding.other &&
                          !(finding.other->block == finding.place.block));
      }
    }
    EXPECT_TRUE(found) << trial.text;
  }
  // Who does not wait arrives twice.
  const Trial no_wait = exchange("barrier.cluster.wait.acquire.aligned;  // WAIT", "");
  expect_finding(no_wait, run(no_wait), Check::kCluster, "// LEAVE");
  // A fence of the cluster makes a relaxed arrival release.
  expect_clean(run(exchange("barrier.cluster.arrive.release.aligned;  // ARRIVE",
                            "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;")));
  EXPECT_FALSE(run(exchange("barrier.cluster.arrive.release.aligned;  // ARRIVE",
                            "fence.acq_rel.cta;\nbarrier.cluster.arrive.relaxed.aligned;"))
                   .findings.empty());
}

TEST(Cluster, ABlockMayHaveExited) {
  std::string text = replaced(exchange_text(), "barrier.cluster.arrive.aligned;  // LEAVE", "");
  text = replaced(text, "barrier.cluster.wait.aligned;  // LEFT", "");
  Trial trial = exchange();
  trial.text = text;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    if (seed != 0) trial.options.schedule = seed;
    const Finding finding = expect_finding(trial, run(trial), Check::kCluster, "// REMOTE");
    EXPECT_NE(finding.message.find("exited"), std::string::npos) << finding.message;
  }
}

TEST(Cluster, ABlockMayNotHaveStarted) {
  // The other block's word is a constant place that nobody writes: no race, but nobody knows that it is
  // there.
  const Trial trial{kernel(".param .u64 out", R"(
.shared .align 4 .b8 count[4];
mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, count; xor.b32 %r4, %r2, 1;
setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
mapa.shared::cluster.u32 %r5, %r3, %r4;
red.shared::cluster.add.u32 [%r5], 1;  // EARLY
DONE:
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ret;)"),
                    {output("out", 4)},
                    {2, 1, 1},
                    {32, 1, 1},
                    0,
                    {},
                    Dim3{2, 1, 1}};
  const Finding finding = expect_finding(trial, run(trial), Check::kCluster, "// EARLY");
  EXPECT_NE(finding.message.find("need not have started"), std::string::npos) << finding.message;
}

TEST(Cluster, AtomicsOnAnotherBlocksMemory) {
  // Each thread of four blocks adds its number to a word of block 0.
  const std::string text = kernel(".param .u64 out", R"(
.shared .align 4 .b8 sum[4];
mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, sum;
or.b32 %r4, %r1, %r2; setp.ne.u32 %p1, %r4, 0; @%p1 bra READY;
st.shared.u32 [%r3], 0;
READY:
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mapa.shared::cluster.u32 %r5, %r3, 0;
atom.shared::cluster.add.u32 %r6, [%r5], %r1;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
@%p1 bra DONE;
ld.shared.u32 %r7, [%r3]; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r7;
DONE:
ret;)");
  std::vector<std::uint32_t> got;
  expect_clean(run_in_clusters(text, {4, 1, 1}, {4, 1, 1}, 4, &got));
  EXPECT_EQ(got[0], 4u * 31 * 32 / 2);
}

TEST(Cluster, UnwrittenMemoryOfAnotherBlock) {
  const std::string text = replaced(exchange_text(), "st.shared.u32 [%r6], %r7;  // STORE",
                                    "setp.eq.u32 %p1, %r4, 2; @!%p1 st.shared.u32 [%r6], %r7;");
  const LaunchReport report = run_in_clusters(text, {4, 1, 1}, {4, 1, 1}, 4 * 128, nullptr);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].check, Check::kUninitialized);
  EXPECT_EQ(report.findings[0].place.ptx_line, line_of(text, "// REMOTE"));
}

TEST(Cluster, BarrierMisused) {
  Trial twice =
      exchange("barrier.cluster.wait.acquire.aligned;  // WAIT", "barrier.cluster.arrive.aligned;  // TWICE");
  expect_finding(twice, run(twice), Check::kCluster, "// TWICE");
  Trial idle = exchange("barrier.cluster.arrive.release.aligned;  // ARRIVE", "");
  expect_finding(idle, run(idle), Check::kCluster, "// WAIT");
  // One block goes past the second barrier.
  Trial stuck = exchange("barrier.cluster.arrive.aligned;  // LEAVE",
                         "setp.eq.u32 %p1, %r2, 2;\nLOOP:\n@%p1 bra LOOP;\nbarrier.cluster.arrive.aligned;");
  stuck.options.instruction_budget = 100000;
  EXPECT_EQ(run(stuck).findings.at(0).check, Check::kBudget);
  Trial waits =
      exchange("barrier.cluster.arrive.aligned;  // LEAVE",
               "setp.eq.u32 %p1, %r2, 2;\n@%p1 bar.sync 1, 64;  // NEVER\nbarrier.cluster.arrive.aligned;");
  const LaunchReport report = run(waits);
  ASSERT_EQ(report.findings.size(), 1u) << describe(report);
  EXPECT_EQ(report.findings[0].check, Check::kBarrierDeadlock);
  for (const char* says :
       {"no thread of the cluster can go on", "block (2,0,0): barrier 1 (32 of 64 threads came)",
        "block (0,0,0): warp 0 waits at line", "for the cluster",
        "warp 0 has not arrived at the cluster barrier"}) {
    EXPECT_NE(report.findings[0].message.find(says), std::string::npos) << report.findings[0].message;
  }
}

TEST(Cluster, LanesThatExitCountAsArrived) {
  Trial trial = exchange("mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 15; @%p1 exit;");
  expect_clean(run(trial));
}

TEST(Cluster, AddressesOfOtherBlocks) {
  Trial local = exchange("ld.shared::cluster.u32 %r10, [%r9];", "ld.shared.u32 %r10, [%r9];");
  const Finding finding = expect_finding(local, run(local), Check::kOutOfBounds, "// REMOTE");
  EXPECT_NE(finding.message.find("mapa"), std::string::npos) << finding.message;
  Trial far = exchange("rem.u32 %r8, %r8, %r3;", "add.u32 %r8, %r8, 3;");
  expect_finding(far, run(far), Check::kInvalidOperand, "mapa.shared");
  Trial global = exchange("mapa.shared::cluster.u32 %r9, %r6, %r8;",
                          "ld.param.u64 %rd5, [out]; mapa.u64 %rd6, %rd5, %r8;  // GLOBAL");
  const Finding outside = expect_finding(global, run(global), Check::kInvalidOperand, "// GLOBAL");
  EXPECT_NE(outside.message.find("is no address of shared memory"), std::string::npos) << outside.message;
  // Rows of a matrix are the block's own.
  Trial matrix =
      exchange("ld.shared::cluster.u32 %r10, [%r9];  // REMOTE",
               "and.b32 %r9, %r9, 0xffffff80; cvt.u64.u32 %rd5, %r9; cvta.shared::cluster.u64 %rd5, %rd5;\n"
               "ldmatrix.sync.aligned.m8n8.x1.b16 {%r10}, [%rd5];  // MATRIX");
  expect_finding(matrix, run(matrix), Check::kInvalidOperand, "// MATRIX");
}

TEST(Cluster, GeometryIsChecked) {
  const auto error = [](const std::string& text, Dim3 grid, std::optional<Dim3> cluster) {
    Trial trial{text, {output("out", 8 * 128)}, grid};
    trial.cluster = cluster;
    const LaunchReport report = run(trial);
    return report.error ? report.error->message : std::string();
  };
  const std::string plain = kernel(".param .u64 out", "ret;");
  EXPECT_NE(error(plain, {6, 1, 1}, Dim3{4, 1, 1}).find("no multiple of the cluster"), std::string::npos);
  EXPECT_NE(error(plain, {32, 1, 1}, Dim3{32, 1, 1}).find("1 … 16 blocks"), std::string::npos);
  EXPECT_NE(error(plain, {32, 1, 1}, Dim3{0, 1, 1}).find("1 … 16 blocks"), std::string::npos);
  EXPECT_EQ(error(plain, {4, 2, 1}, Dim3{2, 2, 1}), "");
  const std::string fixed = kernel(".param .u64 out", "ret;", ".explicitcluster\n.reqnctapercluster 2, 1, 1");
  EXPECT_EQ(error(fixed, {4, 1, 1}, std::nullopt), "");
  EXPECT_EQ(error(fixed, {4, 1, 1}, Dim3{2, 1, 1}), "");
  EXPECT_NE(error(fixed, {4, 1, 1}, Dim3{4, 1, 1}).find(".reqnctapercluster"), std::string::npos);
  EXPECT_NE(error(fixed, {3, 1, 1}, std::nullopt).find("no multiple of the cluster"), std::string::npos);
  const std::string most = kernel(".param .u64 out", "ret;", ".maxclusterrank 2");
  EXPECT_NE(error(most, {4, 1, 1}, Dim3{4, 1, 1}).find(".maxclusterrank 2"), std::string::npos);
  EXPECT_EQ(parse_valid(fixed).entries()[0].required_cluster, (Dim3{2, 1, 1}));
}

}  // namespace
}  // namespace moe4::ptx::test
