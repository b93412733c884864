// The kernels that bring their tiles in stages (TMA with mbarriers, cp.async) and multiply by wgmma or
// mma.sync: right and clean under every schedule; each step that is taken out of one is found.
#include <gtest/gtest.h>

#include <stdexcept>

#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "tests/oracle/judged_variant.h"

namespace moe4::oracle {
namespace {

using gpu::Variant;
using test::built_with_nvcc;
using test::judge_variant;
using test::Judged;
using test::registered;

// I so long that every stage is filled more than once.
struct Long {
  const char* variant;
  const char* line;
};
const Long kLong[] = {
    {"int4_grouped_contiguous_wgmma_m64_bf16",
     "op=grouped_contiguous weights=int4 tokens=5 experts=1 top_k=1 in=1088 out=64 dtype=bf16 block_m=64 "
     "layout=grouped_contiguous fill=exact24 routing=one seed=0x1"},
    {"mxfp4_grouped_contiguous_wgmma_m64_bf16",
     "op=grouped_contiguous weights=mxfp4 tokens=5 experts=1 top_k=1 in=608 out=33 dtype=bf16 block_m=64 "
     "fill=exact24 routing=one seed=0x2"},
    {"int4_grouped_masked_wgmma_m16_bf16",
     "op=grouped_masked weights=int4 tokens=5 experts=1 top_k=1 in=1152 out=64 dtype=bf16 "
     "layout=grouped_masked fill=exact24 routing=one seed=0x3"},
    {"mxfp4_grouped_masked_wgmma_m16_bf16",
     "op=grouped_masked weights=mxfp4 tokens=5 experts=1 top_k=1 in=1120 out=130 dtype=bf16 fill=exact24 "
     "routing=one seed=0x4"},
    {"int4_indexed_wgmma_m16_bf16",
     "op=indexed weights=int4 tokens=5 experts=1 top_k=1 in=1344 out=64 dtype=bf16 block_m=8 "
     "layout=indexed_wgmma fill=exact24 routing=one seed=0x5"},
    {"int4_indexed_wgmma_m64_bf16",
     "op=indexed weights=int4 tokens=5 experts=1 top_k=1 in=576 out=192 dtype=bf16 block_m=40 "
     "layout=indexed_wgmma fill=exact24 routing=one seed=0x6"},
    {"int4_indexed_decode_bf16",
     "op=indexed weights=int4 tokens=9 experts=1 top_k=1 in=576 out=64 dtype=bf16 block_m=16 "
     "layout=indexed_mma fill=exact24 routing=one seed=0x7"},
    {"int4_indexed_wide_m32_bf16",
     "op=indexed weights=int4 tokens=5 experts=1 top_k=1 in=576 out=64 dtype=bf16 block_m=32 "
     "layout=indexed_mma fill=exact24 routing=one seed=0x8"},
};

TEST(ExecutorSubjectTiles, TheRingsHoldUnderEverySchedule) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  for (const auto& [name, line] : kLong) {
    for (int schedule = 0; schedule <= 6; ++schedule) {
      const std::string seed = schedule == 0 ? "" : " schedule=" + std::to_string(schedule);
      const Judged judged = judge_variant(registered(name), line + seed);
      EXPECT_EQ(name_of(judged.verdict.status), "PASSED") << name << " " << line << seed << "\n"
                                                          << judged.verdict.reason << judged.run.reason;
      for (const DeviceFinding& finding : judged.run.findings) ADD_FAILURE() << name << finding.text;
    }
  }
}

// `from` stands in the entry; `nth` of its places there, from 0, becomes `to`.
std::string edited(const Variant& variant, const std::string& from, const std::string& to, int nth) {
  std::string text(variant.ptx);
  const std::size_t begin = text.find(".entry " + std::string(variant.name) + "(");
  const std::size_t end = std::min(text.find(".entry ", begin + 1), text.size());
  std::size_t at = text.find(from, begin);
  for (int n = 0; n < nth && at != std::string::npos; ++n) at = text.find(from, at + 1);
  if (at == std::string::npos || at >= end) throw std::invalid_argument(from);
  return text.replace(at, from.size(), to);
}

struct Planted {
  int of;  // kLong
  const char *from, *to;
  const char* check;  // that reports it; empty: the values show it
  int nth = 0;
};

const Planted kPlanted[] = {
    {0, "wgmma.fence.sync.aligned;", "", "wgmma"},
    {0, "wgmma.commit_group.sync.aligned;", "", "wgmma", 1},
    {0, "wgmma.wait_group.sync.aligned 0;", "", "wgmma"},
    {0, "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;", "shared-race"},
    {0, "mbarrier.arrive.shared::cta.b64 _,", "//", "barrier-deadlock"},
    {0, "bar.warp.sync", "//", "shared-race", 1},  // before the outputs are read back
    {0, "@ended bra ENDED;", "bra ENDED;", "shared-race", 1},
    {0, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r", "//", "barrier-deadlock"},
    {0, "cvt.rn.bf16x2.f32", "cvt.rz.bf16x2.f32", ""},
    {3, "mbarrier.arrive.shared::cta.b64 _,", "//", "barrier-deadlock"},
    {3, "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;", "wgmma", 1},
    {4, "cp.async.wait_group 1;", "cp.async.wait_group 2;", "shared-race"},
    {4, "wgmma.wait_group.sync.aligned 1;", "", "wgmma"},
    {4, "add.rn.f32", "sub.rn.f32", ""},
    {5, "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 3;", "wgmma", 1},
    {6, "cp.async.wait_group 2;", "cp.async.wait_group 3;", "shared-race", 1},  // the loop for two tiles
    {7, "cp.async.wait_group 2;", "cp.async.wait_group 3;", "shared-race"},
};

TEST(ExecutorSubjectTiles, EveryStepCounts) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  for (const Planted& planted : kPlanted) {
    Variant variant = registered(kLong[planted.of].variant);
    SCOPED_TRACE(std::string(variant.name) + ": " + planted.from + " → " + planted.to);
    const std::string ptx = edited(variant, planted.from, planted.to, planted.nth);
    variant.ptx = ptx;
    const Judged judged = judge_variant(variant, kLong[planted.of].line);
    EXPECT_EQ(name_of(judged.verdict.status), "FAILED");
    std::string found;
    for (const DeviceFinding& finding : judged.run.findings)
      found += finding.check + " " + finding.text + "\n";
    if (*planted.check == 0) {
      EXPECT_EQ(found, "");
      EXPECT_GT(judged.verdict.mismatched, 0);
    } else {
      EXPECT_NE(found.find(planted.check), std::string::npos) << found;
    }
  }
}

}  // namespace
}  // namespace moe4::oracle
