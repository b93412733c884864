// The kernels for rows and for combine on the executor, each with one thing wrong: in its PTX, in what its
// plan believes of the shape, or in its declaration. The judge tells every one from the kernel as it is.
#include <gtest/gtest.h>

#include <stdexcept>

#include "gpu/launch/arguments.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "tests/oracle/judged_variant.h"

namespace moe4::oracle {
namespace {

using gpu::KernelLaunch;
using gpu::LaunchShape;
using gpu::TensorBuffers;
using gpu::Variant;
using test::built_with_nvcc;
using test::judge_variant;
using test::Judged;
using test::registered;
using Plan = decltype(Variant::plan);

constexpr const char* kIndexed =
    "op=indexed weights=WEIGHTS tokens=9 experts=6 top_k=2 in=96 out=9 dtype=bf16 block_m=8 fill=FILL "
    "routing=uniform capacity=160 seed=0x1";
constexpr const char* kContiguous =
    "op=grouped_contiguous weights=WEIGHTS tokens=17 experts=4 top_k=2 in=96 out=9 dtype=bf16 block_m=32 "
    "fill=FILL routing=sentinel seed=0x2";
constexpr const char* kMasked =
    "op=grouped_masked weights=WEIGHTS tokens=9 experts=4 top_k=2 in=96 out=9 dtype=bf16 max_m=24 fill=FILL "
    "routing=hot seed=0x3";
constexpr const char* kCombine =
    "op=combine weights=mxfp4 tokens=17 experts=6 top_k=3 in=64 out=33 dtype=bf16 fill=FILL "
    "routing=minus_one seed=0x4";

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A shape that differs from the true one in a single size.
template <std::int64_t LaunchShape::*kSize, int kDelta>
std::optional<KernelLaunch> off_by(const Variant& variant, const LaunchShape& shape,
                                   const TensorBuffers& buffers) {
  LaunchShape wrong = shape;
  wrong.*kSize += kDelta;
  return registered(variant.name).plan(variant, wrong, buffers);
}

struct Planted {
  const char* what;
  const char* variant;
  const char* line;
  const char* fill;
  std::string from, to;  // in the PTX
  Plan plan = nullptr;
};

// 0xC308 twice is -136 in BF16; 0x81C00000 keeps sign and magnitude of an MXFP4 code.
const Planted kPlanted[] = {
    {"zero point 7", "int4_indexed_warp_bf16", kIndexed, "exact8", "-1022835960", "-1022901497"},
    {"zero point 7", "int4_grouped_contiguous_warp_bf16", kContiguous, "exact24", "-1022835960",
     "-1022901497"},
    {"zero point 7", "int4_grouped_masked_warp_bf16", kMasked, "real", "-1022835960", "-1022901497"},
    {"no sign", "mxfp4_indexed_warp_bf16", kIndexed, "exact8", "-2118123520", "29360128"},
    {"no sign", "mxfp4_grouped_contiguous_warp_bf16", kContiguous, "exact24", "-2118123520", "29360128"},
    {"no sign", "mxfp4_grouped_masked_warp_bf16", kMasked, "bits", "-2118123520", "29360128"},
    {"output truncated", "int4_indexed_warp_bf16", kIndexed, "exact24", "cvt.rn.bf16", "cvt.rz.bf16"},
    {"output truncated", "mxfp4_indexed_warp_bf16", kIndexed, "exact24", "cvt.rn.bf16", "cvt.rz.bf16"},
    {"zero point 7", "int4_indexed_mma_bf16", kIndexed, "exact24", "-1022835960", "-1022901497"},
    {"a copy is not waited for", "int4_indexed_mma_bf16", kIndexed, "exact8", "cp.async.wait_group", "//"},
    {"no barrier", "mxfp4_indexed_mma_bf16", kIndexed, "exact8", "bar.sync", "//"},
    {"output truncated", "mxfp4_indexed_mma_bf16", kIndexed, "exact24", "cvt.rn.bf16", "cvt.rz.bf16"},
    {"blocks of another size", "int4_indexed_mma_bf16", kIndexed, "exact8", "", "",
     off_by<&LaunchShape::block_m, 8>},
    {"sentinels taken for rows", "int4_indexed_warp_bf16", kIndexed, "exact8", "", "",
     off_by<&LaunchShape::tokens, 1>},
    {"last rows taken for sentinels", "int4_indexed_warp_bf16", kIndexed, "exact8", "", "",
     off_by<&LaunchShape::tokens, -1>},
    {"blocks of another size", "int4_indexed_warp_bf16", kIndexed, "exact8", "", "",
     off_by<&LaunchShape::block_m, 1>},
    {"ids behind the capacity", "mxfp4_indexed_warp_bf16", kIndexed, "exact8", "", "",
     off_by<&LaunchShape::capacity, -140>},
    {"source row of another top_k", "mxfp4_indexed_warp_bf16", kIndexed, "exact8", "", "",
     off_by<&LaunchShape::top_k, 1>},
    {"last rows left out", "mxfp4_grouped_contiguous_warp_bf16", kContiguous, "exact8", "", "",
     off_by<&LaunchShape::tokens, -32>},
    {"rows of another expert", "int4_grouped_masked_warp_bf16", kMasked, "exact8", "", "",
     off_by<&LaunchShape::max_m, -1>},
    {"absent slots are added", "combine_once_bf16", kCombine, "exact8", ", -1;", ", -2;"},
    {"absent slots are added", "combine_bf16_sum_bf16", kCombine, "exact8", ", -1;", ", -2;"},
    {"weights of other slots", "combine_once_bf16", kCombine, "exact8", "", "",
     off_by<&LaunchShape::top_k, -1>},
};

TEST(ExecutorSubjectOps, EveryPlantedFaultFailsAndTheKernelItselfPasses) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  for (const Planted& planted : kPlanted) {
    SCOPED_TRACE(std::string(planted.variant) + ": " + planted.what);
    Variant variant = registered(planted.variant);
    const std::string line =
        with(with(planted.line, "WEIGHTS", std::string(variant.weights)), "FILL", planted.fill);
    const Judged healthy = judge_variant(variant, line);
    EXPECT_EQ(name_of(healthy.verdict.status), "PASSED") << healthy.verdict.reason << healthy.run.reason;

    std::string ptx(variant.ptx);
    if (!planted.from.empty()) ptx = with(ptx, planted.from, planted.to);
    EXPECT_EQ(ptx == variant.ptx, planted.from.empty());
    variant.ptx = ptx;
    if (planted.plan != nullptr) variant.plan = planted.plan;
    EXPECT_EQ(name_of(judge_variant(variant, line).verdict.status), "FAILED");
  }
}

// The cp.async pipeline holds whatever the order of warps and blocks and however late its copies land.
TEST(ExecutorSubjectOps, ThePipelineHoldsUnderEverySchedule) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  for (const char* name : {"int4_indexed_mma_bf16", "mxfp4_indexed_mma_bf16"}) {
    const Variant& variant = registered(name);
    for (int schedule = 1; schedule <= 12; ++schedule) {
      // Six slabs and a half: every stage is filled again, and the last slab has a tail.
      std::string line = with(with(kIndexed, "WEIGHTS", std::string(variant.weights)), "FILL", "exact24");
      line = with(with(line, "in=96", "in=416"), "tokens=9", "tokens=5") +
             " schedule=" + std::to_string(schedule);
      const Judged judged = judge_variant(variant, line);
      EXPECT_EQ(name_of(judged.verdict.status), "PASSED") << line << "\n" << judged.verdict.reason;
      EXPECT_TRUE(judged.run.findings.empty()) << line;
    }
  }
}

// VER-20: the chip of the case decides the bits, and is what they are judged by.
TEST(ExecutorSubjectOps, TheChipOfTheCaseMultiplies) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  const Variant& variant = registered("mxfp4_indexed_mma_bf16");
  const std::string line = with(with(kIndexed, "WEIGHTS", "mxfp4"), "FILL", "cancel");
  const Judged usual = judge_variant(variant, line);
  EXPECT_EQ(usual.verdict.hardware, "hopper") << "as declared";
  std::vector<Judged> on;
  for (const char* chip : {"ampere", "ada", "hopper", "blackwell"}) {
    on.push_back(judge_variant(variant, line + " hardware=" + chip));
    EXPECT_EQ(name_of(on.back().verdict.status), "PASSED") << chip << ": " << on.back().verdict.reason;
    EXPECT_EQ(on.back().verdict.hardware, chip);
    EXPECT_NE(on.back().verdict.rule.find(std::string("accumulation=") + chip), std::string::npos)
        << on.back().verdict.rule;
  }
  const auto bits = [](const Judged& judged) {
    const auto* begin = reinterpret_cast<const char*>(judged.run.output.data());
    return std::string(begin, judged.run.output.bytes());
  };
  EXPECT_EQ(bits(on[2]), bits(usual));
  // Steps of 8 products cut elsewhere than steps of 16: seldom seen through the rounding to BF16.
  bool differ = false;
  for (int seed = 1; seed <= 40 && !differ; ++seed) {
    const std::string long_line =
        with(with(with(kIndexed, "WEIGHTS", "mxfp4"), "FILL", "slab_cancel"), "in=96", "in=416") +
        std::to_string(seed);
    const Judged ampere = judge_variant(variant, long_line + " hardware=ampere");
    const Judged hopper = judge_variant(variant, long_line + " hardware=hopper");
    EXPECT_EQ(name_of(ampere.verdict.status), "PASSED") << long_line << ampere.verdict.reason;
    differ = bits(ampere) != bits(hopper);
  }
  EXPECT_TRUE(differ);
}

// Where a stack rounds is part of what it declares: neither form of combine passes for the other.
TEST(ExecutorSubjectOps, TheOtherProfileOfCombineFails) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  const std::pair<const char*, const char*> swaps[] = {{"combine_once_bf16", "late_bf16_sum"},
                                                       {"combine_bf16_sum_bf16", "once"}};
  for (const auto& [name, profile] : swaps) {
    Variant variant = registered(name);
    const std::string own = variant.op == "combine" && profile == std::string("once")
                                ? "\"profile\": \"late_bf16_sum\""
                                : "\"profile\": \"once\"";
    const std::string declaration =
        with(std::string(variant.declaration), own, std::string("\"profile\": \"") + profile + "\"");
    ASSERT_NE(declaration, variant.declaration);
    variant.declaration = declaration;
    const Verdict verdict = judge_variant(variant, with(kCombine, "FILL", "real")).verdict;
    EXPECT_EQ(name_of(verdict.status), "FAILED") << name;
    EXPECT_GT(verdict.mismatched, 0);
  }
}

// Clears the whole output first, as a caller might like: rows that no id names are not the kernel's to write.
TEST(ExecutorSubjectOps, ARowThatNoIdNamesMayNotBeWritten) {
  std::string ptx = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry clears(\n";
  for (int n = 0; n < 12; ++n) ptx += (n > 0 ? ",\n" : "") + std::string(".param .u64 p") + std::to_string(n);
  ptx +=
      ")\n{\n.reg .b16 %h<2>;\n.reg .b32 %r<2>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd0, [p6];\n"
      "cvta.to.global.u64 %rd0, %rd0;\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 2;\n"
      "add.s64 %rd1, %rd0, %rd2;\nmov.b16 %h0, 0;\nst.global.b16 [%rd1], %h0;\nret;\n}\n";
  const Plan plan = [](const Variant& variant, const LaunchShape& shape, const TensorBuffers& buffers) {
    KernelLaunch launch;
    launch.ptx = variant.ptx;
    launch.module_name = variant.file;
    launch.entry = "clears";
    launch.block = {static_cast<std::uint32_t>(shape.tokens * shape.top_k * shape.out), 1, 1};
    launch.arguments = gpu::arguments_of(variant, shape, buffers);
    return std::optional(launch);
  };
  const Variant variant{"clears",
                        "bf16",
                        "clears.ptx",
                        R"({"schema": 1, "name": "clears", "op": "indexed", "weights": "int4",
                            "dtypes": ["bf16"], "profile": "once", "order": "seq"})",
                        ptx,
                        plan,
                        "indexed",
                        "int4"};
  const Judged judged =
      judge_variant(variant,
                    "op=indexed weights=int4 tokens=4 experts=12 top_k=4 in=64 out=5 dtype=bf16 ep=rank(1,2) "
                    "fill=exact8 routing=uniform seed=0x5");
  EXPECT_EQ(judged.run.outcome, SubjectRun::Outcome::kRan) << judged.run.reason;
  EXPECT_GT(judged.verdict.stray, 0);
  EXPECT_EQ(name_of(judged.verdict.status), "FAILED");
}

}  // namespace
}  // namespace moe4::oracle
