// What docs/executor.md lists as refused: each form is named with its line, and no thread runs.
#include <gtest/gtest.h>

#include "tests/gpu/ptx/check_support.h"

namespace moe4::ptx::test {
namespace {

constexpr const char* kRefused[] = {
    // matrix products of other types
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r9, "
    "%r10}, "
    "{%r1, %r2, %r3, %r4};",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%r9, "
    "%r10}, "
    "{%r1, %r2, %r3, %r4};",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r9, "
    "%r10}, {%f1, %f2, %f3, %f4};",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r5, %r6, %r7, %r8}, {%r9, "
    "%r10}, {%f1, %f2, %f3, %f4};",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r5, %r6, %r7, %r8}, {%r9, %r10}, {%r1, "
    "%r2};",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, "
    "%r6, %r7, %r8}, {%f1, %f2, %f3, %f4}, %r9, 0x0;",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r1, %r2, %r3, %r4}, %rd1, %rd2, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1, %r2}, %rd1, %rd2, 1, 1, 1, 0, 0;",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %r9, 0, 1, 1, 1, "
    "0, 0;",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%r9], "
    "%r10;",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, {%r1, %r2, "
    "%r3, "
    "%r4, %r5, %r6, %r7, %r8}, {%r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16}, {%f1, %f2, %f3, %f4, %f5, "
    "%f6, %f7, %f8};",
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r9], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, "
    "%r10;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
    "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};",
    // conversions
    "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "cvt.rn.satfinite.e5m2x2.f32 %h1, %f1, %f2;",
    "cvt.rn.f16x2.e4m3x2 %r1, %h1;", "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;",
    "cvt.rna.tf32.f32 %r1, %f1;",
    // copies
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r1], [%r2], 16, "
    "[%r3];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd1], [%r1], 64;",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, "
    "%r3, %r4, %r5}], [%r6], {%h1, %h2};",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, "
    "{%r2, "
    "%r3, %r4, %r5, %r7}], [%r6];",
    // functions of half precision
    "ex2.approx.f16 %h1, %h2;", "ex2.approx.ftz.bf16x2 %r1, %r2;", "tanh.approx.f16x2 %r1, %r2;",
    "tanh.approx.bf16 %h1, %h2;", "rsqrt.approx.f64 %fd1, %fd2;",
    // the rest
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r1], %r2, [%r3];",
    "multimem.ld_reduce.global.add.f32 %f1, [%rd1];",
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];", "suld.b.1d.b32.trap %r1, [%rd1, {%r2}];",
    "vadd.s32.s32.s32 %r1, %r2, %r3;", "atom.global.cas.b128 %rd1, [%rd2], %rd3, %rd4;"};

TEST(RefusedInstructions, AreNamedBeforeTheFirstThreadRuns) {
  for (const std::string instruction : kRefused) {
    const std::string text =
        kernel(".param .u64 out",
               "ld.param.u64 %rd20, [out];\nst.global.u32 [%rd20], 1;\n" + instruction + "  // HERE\nret;");
    Error error;
    const std::optional<Module> module = Module::parse(text, "refused", &error);
    ASSERT_TRUE(module.has_value()) << instruction << ": " << error.message;
    const std::vector<Error> unsupported = module->entries().at(0).unsupported;
    ASSERT_EQ(unsupported.size(), 1u) << instruction;
    EXPECT_EQ(unsupported[0].line, line_of(text, "HERE")) << instruction;
    const std::string opcode = instruction.substr(0, instruction.find(' '));
    EXPECT_EQ(unsupported[0].instruction.substr(0, opcode.size()), opcode);
    EXPECT_FALSE(unsupported[0].message.empty());
    Memory memory;
    const std::uint64_t out = memory.add_zeroed("out", 4);
    const LaunchReport report = run(*module, memory, {1, 1, 1}, {32, 1, 1}, Arguments().u64(out));
    ASSERT_TRUE(report.error.has_value()) << instruction;
    EXPECT_EQ(report.error->line, line_of(text, "HERE")) << instruction;
    EXPECT_EQ(read_all<std::uint32_t>(memory, out, 1)[0], 0u) << "a thread ran before " << instruction;
  }
}

// Through a register, and a function that calls itself.
TEST(RefusedInstructions, CallsThatCannotBeExpanded) {
  const std::string indirect =
      kernel("", "mov.u64 %rd1, 0;\nproto: .callprototype _ ();\ncall %rd1, (), proto;  // HERE\nret;");
  Error error;
  std::optional<Module> module = Module::parse(indirect, "indirect", &error);
  if (module) {
    ASSERT_EQ(module->entries().at(0).unsupported.size(), 1u);
    EXPECT_EQ(module->entries().at(0).unsupported[0].line, line_of(indirect, "HERE"));
  } else {
    EXPECT_EQ(error.line, line_of(indirect, "HERE")) << error.message;
  }
  const std::string recursive = module_header() + ".func again ()\n{\ncall again, ();\nret;\n}\n" +
                                entry("kernel", "", "call again, ();\nret;");
  module = Module::parse(recursive, "recursive", &error);
  EXPECT_TRUE(!module || !module->entries().at(0).unsupported.empty());
}

}  // namespace
}  // namespace moe4::ptx::test
