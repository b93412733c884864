// Kernels on the executor as subjects: what a kernel does wrong arrives at the verdict, whatever it is.
#include <gtest/gtest.h>

#include <string>

#include "oracle/fixtures/case_builder.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "oracle/subject/gpu/executor_subject.h"

namespace moe4::oracle {
namespace {

constexpr const char* kDeclaration =
    R"({"schema": 1, "name": "planted", "op": "expert_linear", "weights": "mxfp4",
    "dtypes": ["bf16"], "profile": "once", "order": "seq"})";

// One thread an output of a [1,2] result; the body has the output's address in %rd1 and the thread in %r1.
std::string ptx_with(const std::string& body) {
  std::string text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry planted(\n";
  for (int n = 0; n < 12; ++n)
    text += (n > 0 ? ",\n" : "") + std::string(".param .u64 p") + std::to_string(n);
  return text +
         ")\n{\n.reg .pred %p<4>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .f32 %f<8>;\n.reg .b64 "
         "%rd<16>;\n"
         "ld.param.u64 %rd0, [p6];\ncvta.to.global.u64 %rd0, %rd0;\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd2, %r1, 2;\nadd.s64 %rd1, %rd0, %rd2;\n" +
         body + "\nret;\n}\n";
}

std::optional<gpu::KernelLaunch> plan(const gpu::Variant& variant, const gpu::ExpertLinearShape& shape,
                                      const gpu::ExpertLinearBuffers& b) {
  gpu::KernelLaunch launch;
  launch.ptx = variant.ptx;
  launch.module_name = variant.file;
  launch.entry = "planted";
  launch.block = {2, 1, 1};
  for (const gpu::BufferId id : {b.latent_tokens, b.packed_weights, b.scale_bytes, b.selected_experts,
                                 b.mixture_weights, b.shared_output, b.output}) {
    launch.arguments.push_back({gpu::Argument::Kind::kBuffer, id, 0});
  }
  for (const std::int64_t size : {shape.tokens, shape.experts, shape.in, shape.out, shape.top_k}) {
    launch.arguments.push_back({gpu::Argument::Kind::kU64, {}, static_cast<std::uint64_t>(size)});
  }
  return launch;
}

// The norm of this case is [1, 1].
CaseData ones() {
  CaseBuilder b({.out = 2}, {});
  return b.code(0, 0, 0, 2).code(0, 1, 0, 2).token(0, 0, 1).build();
}

struct Judged {
  SubjectRun run;
  Verdict verdict;
};

Judged judge_ptx(const std::string& body, const ExecutorSettings& settings = {}) {
  const std::string ptx = ptx_with(body);
  const gpu::Variant variant{"planted", "bf16", "planted.ptx", kDeclaration, ptx, plan};
  Result<std::unique_ptr<Subject>> subject =
      make_executor_subject(variant, gpu::make_executor_device(), settings);
  EXPECT_TRUE(subject.ok()) << subject.error().message();
  const CaseData data = ones();
  Judged judged;
  judged.run = (*subject)->run(data);
  judged.verdict = judge(data, (*subject)->declaration(), judged.run);
  return judged;
}

constexpr const char* kStoreOnes = "mov.b16 %h0, 0x3F80;\nst.global.b16 [%rd1], %h0;\n";

TEST(ExecutorSubject, RightOutputPassesAndIsCounted) {
  const Judged judged = judge_ptx(kStoreOnes);
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kPassed) << judged.run.reason << judged.verdict.reason;
  EXPECT_GT(judged.run.thread_instructions, 10u);
  EXPECT_TRUE(judged.run.inputs_unchanged);
  EXPECT_EQ(judged.run.unwritten, (std::vector<bool>{false, false}));
}

TEST(ExecutorSubject, WrongOutputFails) {
  const Judged judged = judge_ptx("mov.b16 %h0, 0x3F81;\nst.global.b16 [%rd1], %h0;\n");
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kFailed);
  EXPECT_EQ(judged.verdict.mismatched, 2);
}

TEST(ExecutorSubject, UnwrittenOutputFails) {
  const Judged judged = judge_ptx("setp.ne.u32 %p0, %r1, 0;\n@%p0 ret;\n" + std::string(kStoreOnes));
  EXPECT_EQ(judged.run.unwritten, (std::vector<bool>{false, true}));
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kFailed);
  EXPECT_EQ(judged.verdict.unwritten, 1);
}

TEST(ExecutorSubject, AccessOutsideIsAFinding) {
  const Judged judged = judge_ptx(std::string(kStoreOnes) + "st.global.b16 [%rd1+4096], %h0;\n");
  ASSERT_FALSE(judged.run.findings.empty());
  EXPECT_EQ(judged.run.findings[0].check, "out-of-bounds");
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kFailed);
}

TEST(ExecutorSubject, OutputMadeOfUnwrittenMemoryIsAFinding) {
  const Judged judged = judge_ptx("ld.global.b16 %h0, [%rd1];\nst.global.b16 [%rd1], %h0;\n");
  ASSERT_FALSE(judged.run.findings.empty());
  EXPECT_EQ(judged.run.findings[0].check, "uninitialized");
}

TEST(ExecutorSubject, StoreToAnInputIsAChangedInput) {
  const Judged judged =
      judge_ptx(std::string(kStoreOnes) +
                "ld.param.u64 %rd4, [p0];\ncvta.to.global.u64 %rd4, %rd4;\nst.global.b16 [%rd4], %h0;\n");
  EXPECT_FALSE(judged.run.inputs_unchanged);
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kFailed);
}

TEST(ExecutorSubject, EndlessLoopIsATimeout) {
  ExecutorSettings settings;
  settings.instruction_budget = 10000;
  const Judged judged = judge_ptx("L:\nadd.u32 %r2, %r2, 1;\nbra L;\n", settings);
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kTimeout);
}

TEST(ExecutorSubject, UnsupportedInstructionIsUnsupported) {
  const Judged judged = judge_ptx("tcgen05.fence::before_thread_sync;\n" + std::string(kStoreOnes));
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kUnsupported) << judged.run.reason;
  EXPECT_NE(judged.run.reason.find("tcgen05"), std::string::npos) << judged.run.reason;
}

TEST(ExecutorSubject, TextThatIsNoPtxIsAnError) {
  const Judged judged = judge_ptx("this is no instruction;\n");
  EXPECT_EQ(judged.run.outcome, SubjectRun::Outcome::kError);
  EXPECT_EQ(judged.verdict.status, VerdictStatus::kFailed);
}

TEST(ExecutorSubject, BadDeclarationIsRefused) {
  const gpu::Variant variant{"planted", "bf16", "planted.ptx", R"({"schema": 1})", "", plan};
  EXPECT_FALSE(make_executor_subject(variant, gpu::make_executor_device(), {}).ok());
  EXPECT_FALSE(make_executor_subject("no_such_variant").ok());
}

// A registered variant whose PTX has been edited once: what `from` was is `to`.
SubjectRun run_edited(const std::string& name, const std::string& from, const std::string& to,
                      Verdict& verdict) {
  SubjectRun run;
  for (const gpu::Variant& original : gpu::variants()) {
    if (original.name != name) continue;
    std::string ptx(original.ptx);
    const std::size_t at = ptx.find(from);
    if (at == std::string::npos) return run;
    ptx.replace(at, from.size(), to);
    gpu::Variant edited = original;
    edited.ptx = ptx;
    Result<std::unique_ptr<Subject>> subject = make_executor_subject(edited, gpu::make_executor_device(), {});
    Case line;
    line.tokens = 5, line.experts = 3, line.top_k = 2, line.in = 288, line.out = 33,
    line.fill = Fill::kExact24;
    Result<CaseData> data = generate(line);
    if (!subject.ok() || !data.ok()) return run;
    run = (*subject)->run(*data);
    verdict = judge(*data, (*subject)->declaration(), run);
  }
  return run;
}

bool built_with_nvcc() { return !gpu::variants().empty() && !gpu::variants()[0].ptx.empty(); }

TEST(ExecutorSubject, ADroppedBarrierOfOurTileKernelIsARace) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  Verdict verdict;
  const SubjectRun run = run_edited("mxfp4_linear_tile_bf16", "bar.sync", "// bar.sync", verdict);
  EXPECT_EQ(verdict.status, VerdictStatus::kFailed);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(run.findings[0].check, "shared-race");
  EXPECT_NE(run.findings[0].text.find("mxfp4_linear_tile.cu:"), std::string::npos) << run.findings[0].text;
}

TEST(ExecutorSubject, ATruncatingConversionOfOurWarpKernelIsWrong) {
  if (!built_with_nvcc()) GTEST_SKIP() << "the kernels are compiled with nvcc only";
  Verdict verdict;
  run_edited("mxfp4_linear_warp_bf16", "cvt.rn.bf16.f32", "cvt.rz.bf16.f32", verdict);
  EXPECT_EQ(verdict.status, VerdictStatus::kFailed);
  EXPECT_GT(verdict.mismatched, 0);
  EXPECT_EQ(verdict.max_ulp, 1);
}

// In a build without nvcc the same variants are UNSUPPORTED, so that a gate over them is red.
TEST(ExecutorSubject, EveryRegisteredVariantRunsAndPasses) {
  ASSERT_FALSE(executor_subject_names().empty());
  for (const gpu::Variant& variant : gpu::variants()) {
    Result<std::unique_ptr<Subject>> subject = make_executor_subject(variant.name);
    ASSERT_TRUE(subject.ok()) << subject.error().message();
    Case line;
    line.tokens = 5, line.experts = 3, line.top_k = 2, line.in = 96, line.out = 33;
    line.dtype = (*subject)->declaration().dtypes[0];
    Result<CaseData> data = generate(line);
    ASSERT_TRUE(data.ok());
    const SubjectRun run = (*subject)->run(*data);
    const VerdictStatus status = judge(*data, (*subject)->declaration(), run).status;
    EXPECT_EQ(status, variant.ptx.empty() ? VerdictStatus::kUnsupported : VerdictStatus::kPassed)
        << variant.name;
  }
}

}  // namespace
}  // namespace moe4::oracle
