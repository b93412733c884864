// Matrix products that nvcc compiled (compiled/gemm.cu): TMA + mbarrier + wgmma, and cp.async + ldmatrix +
// mma.sync. They are right and clean under every schedule; each step that is taken out of the PTX is found.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/compiled_gemm.h"

namespace moe4::ptx::test {
namespace {

// The text with the only `from` in an entry replaced.
std::string edited(const std::string& entry, const std::string& from, const std::string& to) {
  const std::string text = gemm_text();
  const std::size_t begin = text.find(".entry " + entry + "(");
  EXPECT_NE(begin, std::string::npos);
  const std::size_t end = std::min(text.find(".entry", begin + 1), text.size());
  const std::size_t at = text.find(from, begin);
  EXPECT_LT(at, end) << from;
  EXPECT_GE(text.find(from, at + 1), end) << from << " occurs twice";
  return text.substr(0, at) + to + text.substr(at + from.size());
}

void expect_right(const Gemm& gemm, std::uint64_t seed = 0, bool checked = false) {
  const Outcome outcome = multiply(gemm_text(), gemm, seed, checked);
  expect_clean(outcome.report);
  EXPECT_EQ(outcome.wrong, 0) << gemm.entry << " seed " << seed;
}

TEST(Gemm, Supported) {
  for (const EntryInfo& entry : parse_valid(gemm_text()).entries()) {
    EXPECT_TRUE(entry.unsupported.empty()) << entry.name << ": " << entry.unsupported[0].message;
    EXPECT_TRUE(entry.needs_tensor_core);
  }
}

TEST(Gemm, Right) {
  expect_right({"wgmma_64", 64, 2, 64 * 7});
  expect_right({"wgmma_64", 64, 1, 64});
  expect_right({"wgmma_64", 64, 1, 64 * 4 + 8});  // the last box reaches over the end
  expect_right({"wgmma_256", 256, 1, 128});
  expect_right({"mma_64", 64, 2, 256});
  expect_right({"mma_64", 64, 1, 32});
  expect_right({"wgmma_64", 64, 1, 256}, 0, true);
  expect_right({"mma_64", 64, 1, 256}, 0, true);
}

TEST(Gemm, RightUnderEverySchedule) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    expect_right({"wgmma_64", 64, 1, 64 * 5}, seed);
    expect_right({"mma_64", 64, 1, 160}, seed);
  }
}

struct Fault {
  const char *from, *to;
  std::vector<Check> checks;  // one of these must be found
  const char* says = "";
};

void expect_found(const std::string& entry, const Fault& fault) {
  const Gemm gemm{entry, 64, 1, 64 * 7};
  const std::string text = edited(entry, fault.from, fault.to);
  const Outcome outcome = multiply(text, gemm);
  bool found = false;
  for (const Finding& finding : outcome.report.findings) {
    for (const Check check : fault.checks) {
      found = found || (finding.check == check && !finding.formal &&
                        finding.message.find(fault.says) != std::string::npos);
    }
  }
  EXPECT_TRUE(found) << fault.from << "\n" << describe(outcome.report);
}

TEST(Gemm, EveryStepOfTheWgmmaPipelineCounts) {
  const Fault faults[] = {
      {"wgmma.fence.sync.aligned;", "", {Check::kWgmma}, "wgmma.fence"},
      {"wgmma.commit_group.sync.aligned;", "", {Check::kWgmma}, "no wgmma.wait_group"},
      {"wgmma.wait_group.sync.aligned 0;", "", {Check::kWgmma}, "no wgmma.wait_group"},
      // The stage is given back while the products still read it.
      {"wgmma.wait_group.sync.aligned 1;", "", {Check::kSharedRace}, "read (wgmma)"},
      {"wgmma.wait_group.sync.aligned 1;",
       "wgmma.wait_group.sync.aligned 2;",
       {Check::kSharedRace},
       "read (wgmma)"},
      {"mbarrier.arrive.shared::cta.b64 _, [%r57];", "", {Check::kBarrierDeadlock}, "lacks 4 of 4 arrivals"},
      {"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r118], %r110;",
       "mbarrier.arrive.shared::cta.b64 _, [%r118];",
       {Check::kSharedRace}},
      {"[%r118], %r110;", "[%r118], 16400;", {Check::kBarrierDeadlock}, "16 bytes of transactions"},
      {"[%r118], %r110;", "[%r118], 8192;", {Check::kSharedRace, Check::kBarrierDeadlock}},
      {"try_wait.parity.shared::cta.b64 done, [%r41], %r127;\n@done bra DONE;",
       "try_wait.parity.shared::cta.b64 done, [%r41], %r127;\nbra DONE;",
       {Check::kSharedRace},
       "pending"},
      {"try_wait.parity.shared::cta.b64 done, [%r107], %r108;\n@done bra DONE;",
       "try_wait.parity.shared::cta.b64 done, [%r107], %r108;\nbra DONE;",
       {Check::kSharedRace}},
      {"mbarrier.try_wait.parity.shared::cta.b64 done, [%r41], %r127;",
       "xor.b32 %r127, %r127, 1; mbarrier.try_wait.parity.shared::cta.b64 done, [%r41], %r127;",
       {Check::kSharedRace, Check::kBarrierDeadlock}},
      {"bar.sync 	0;", "", {Check::kSharedRace, Check::kMbarrier}},
  };
  for (const Fault& fault : faults) expect_found("wgmma_64", fault);
}

// The initialisation of the barriers reaches TMA without a fence: undefined, and common.
TEST(Gemm, MissingInitFenceIsFormal) {
  const Outcome outcome = multiply(edited("wgmma_64", "fence.mbarrier_init.release.cluster;", ""), {});
  ASSERT_FALSE(outcome.report.findings.empty());
  for (const Finding& finding : outcome.report.findings) {
    EXPECT_EQ(finding.check, Check::kProxyFence);
    EXPECT_TRUE(finding.formal);
  }
  EXPECT_EQ(outcome.wrong, 0);
}

TEST(Gemm, EveryStepOfTheMmaPipelineCounts) {
  expect_found("mma_64", {"cp.async.wait_group 1;", "", {Check::kSharedRace}, "pending"});
  expect_found("mma_64",
               {"cp.async.wait_group 1;", "cp.async.wait_group 2;", {Check::kSharedRace}, "pending"});
  expect_found("mma_64", {"bar.sync 	0;", "", {Check::kSharedRace}});
}

// The fault's effect is there too, not only its finding: the products read what is not there yet.
TEST(Gemm, MissingWaitsShowInTheValues) {
  EXPECT_GT(multiply(edited("wgmma_64", "wgmma.wait_group.sync.aligned 0;", ""), {}).wrong, 0);
  EXPECT_GT(multiply(edited("wgmma_64", "done, [%r41], %r127;\n@done bra DONE;\nbra AGAIN;",
                            "done, [%r41], %r127;\n"),
                     {})
                .wrong,
            0);
  EXPECT_GT(multiply(edited("mma_64", "cp.async.wait_group 1;", ""), {"mma_64", 64, 1, 256}).wrong, 0);
}

}  // namespace
}  // namespace moe4::ptx::test
