// Kernels on the executor as subjects: what a kernel does wrong arrives at the verdict, whatever it is.
#include <gtest/gtest.h>

#include <string>

#include "gpu/launch/arguments.h"
#include "oracle/fixtures/case_builder.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/verdict.h"
#include "oracle/subject/gpu/executor_subject.h"
#include "oracle/subject/gpu/executor_tensor_core.h"
#include "reference/accumulate/tensor_core.h"

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

std::optional<gpu::KernelLaunch> plan(const gpu::Variant& variant, const gpu::LaunchShape& shape,
                                      const gpu::TensorBuffers& buffers) {
  gpu::KernelLaunch launch;
  launch.ptx = variant.ptx;
  launch.module_name = variant.file;
  launch.entry = "planted";
  launch.block = {2, 1, 1};
  launch.arguments = gpu::arguments_of(variant, shape, buffers);
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
    line.op = (*subject)->declaration().ops[0];
    line.weights = (*subject)->declaration().weights[0];
    line.tokens = 5, line.experts = 3, line.top_k = 2, line.in = 96, line.out = 33;
    line.dtype = (*subject)->declaration().dtypes[0];
    if (!(*subject)->declaration().layouts.empty()) {
      line.layout = (*subject)->declaration().layouts[0];
      line.in = 128, line.out = 64;
    }
    ASSERT_FALSE((*subject)->declaration().refuses(line)) << variant.name;
    Result<CaseData> data = generate(line);
    ASSERT_TRUE(data.ok());
    const SubjectRun run = (*subject)->run(*data);
    const VerdictStatus status = judge(*data, (*subject)->declaration(), run).status;
    EXPECT_EQ(status, variant.ptx.empty() ? VerdictStatus::kUnsupported : VerdictStatus::kPassed)
        << variant.name;
  }
}

// What is formal is in the report, and the values decide.
TEST(ExecutorSubject, FormalFindingsAreReportedAndNotRed) {
  const std::string copy =
      "{ .shared .align 16 .b8 tile[32]; ld.param.u64 %rd5, [p1]; cvta.to.global.u64 %rd5, %rd5; mov.u32 "
      "%r5, tile;\n"
      "cp.async.ca.shared.global [%r5], [%rd5], 4; }\nmov.b16 %h1, 0x3f80;\nst.global.b16 [%rd1], %h1;";
  const Judged judged = judge_ptx("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra ONE;\n" + copy +
                                  "\nret;\nONE:\nmov.b16 %h1, 0x3f80;\nst.global.b16 [%rd1], %h1;");
  ASSERT_EQ(judged.run.findings.size(), 1u);
  EXPECT_EQ(judged.run.findings[0].check, "async-pending");
  EXPECT_TRUE(judged.run.findings[0].formal);
  EXPECT_NE(judged.verdict.status, VerdictStatus::kFailed) << judged.verdict.reason;
  EXPECT_EQ(judged.verdict.findings.size(), 1u);
}

TEST(ExecutorSubject, HardwareIsAGenerationOfTensorCores) {
  ExecutorSettings settings;
  settings.hardware = "abacus";
  const auto subject = make_executor_subject(executor_subject_names().front(), settings);
  ASSERT_FALSE(subject.ok());
  EXPECT_EQ(subject.error().field, "hardware");
}

// The bits of an mma on the executor are those of the reference's step, and of the chip that is asked for.
TEST(ExecutorSubject, TensorCoresAreTheReferences) {
  constexpr std::uint32_t kRows = 16, kColumns = 8, kDepth = 16;
  std::uint64_t state = 7;
  const auto draw = [&state] {
    return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33;
  };
  int differ = 0;
  for (const TensorCore& unit : tensor_cores()) {
    const ptx::TensorCore* core = executor_tensor_core(unit.name);
    ASSERT_NE(core, nullptr);
    EXPECT_EQ(core->bf16, unit.bf16);
    if (!unit.bf16) continue;
    std::vector<std::uint16_t> a(kRows * kDepth), b(kColumns * kDepth);
    std::vector<std::uint32_t> c(kRows * kColumns);
    for (auto& x : a) x = static_cast<std::uint16_t>(0x3f00 + draw() % 512 + (draw() % 2 << 15));
    for (auto& x : b) x = static_cast<std::uint16_t>(0x3f00 + draw() % 512 + (draw() % 2 << 15));
    for (auto& x : c) x = static_cast<std::uint32_t>(0x40000000 + draw() % 0x01000000);
    std::vector<std::uint32_t> d = c;
    ptx::TensorTile tile;
    tile.rows = kRows;
    tile.columns = kColumns;
    tile.k = kDepth;
    tile.a = a.data();
    tile.b = b.data();
    tile.d = d.data();
    core->multiply_add(core->context, tile);
    for (std::uint32_t r = 0; r < kRows; ++r) {
      for (std::uint32_t n = 0; n < kColumns; ++n) {
        const std::span<const std::uint16_t> row(a.data() + r * kDepth, kDepth),
            column(b.data() + n * kDepth, kDepth);
        const std::uint32_t want =
            tensor_core_instruction(unit, Dtype::kBF16, c[r * kColumns + n], row, column);
        EXPECT_EQ(d[r * kColumns + n], want) << unit.name;
        differ += want != tensor_core_instruction(*tensor_core("ampere"), Dtype::kBF16, c[r * kColumns + n],
                                                  row, column);
      }
    }
  }
  EXPECT_GT(differ, 0);  // the chips do not agree on this data
}

}  // namespace
}  // namespace moe4::oracle
