// The mutator: what it makes of each kind of instruction, and that an edit is one edit.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gpu/ptx/mutate/mutant.h"
#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/operands.h"

namespace moe4::ptx::test {
namespace {

// Instructions that the executor need not know: the mutator reads syntax only.
std::string text_of(const std::string& body) { return kernel(".param .u64 out", body + "\nret;"); }

std::vector<Mutant> mutants_in(const std::string& body) {
  Error error;
  const std::string text = text_of(body);
  const auto mutants = mutants_of(text, "kernel", &error);
  EXPECT_TRUE(mutants) << error.message << " in line " << error.line;
  if (!mutants) return {};
  for (const Mutant& mutant : *mutants) {
    const std::string changed = mutated(text, mutant);
    EXPECT_NE(changed, text) << mutant.name;
    EXPECT_EQ(mutants_of(changed, "kernel", &error).has_value(), true)
        << mutant.name << ": " << error.message << "\n"
        << diff(mutant);
  }
  return *mutants;
}

// "kind: after" of every mutant of the instruction; a dropped one has nothing after the colon.
std::vector<std::string> afters(const std::string& body) {
  std::vector<std::string> result;
  for (const Mutant& mutant : mutants_in(body))
    result.push_back(std::string(name_of(mutant.kind)) + ": " + mutant.after);
  return result;
}

using Strings = std::vector<std::string>;

TEST(Mutate, DropsWhatOrdersAndSignals) {
  EXPECT_EQ(afters("bar.sync 0;"), Strings{"barrier: "});
  EXPECT_EQ(afters("@%p1 bar.warp.sync -1;").front(), "barrier: ");
  EXPECT_EQ(afters("bar.red.and.pred %p1, 0, !%p2;"),
            (Strings{"barrier: not.pred %p1, %p2;", "predicate: bar.red.and.pred %p1, 0, %p2;"}));
  EXPECT_EQ(afters("bar.red.popc.u32 %r1, 0, %p2;").front(), "barrier: selp.u32 %r1, 1, 0, %p2;");
  EXPECT_EQ(afters("fence.proxy.async.shared::cta;"), Strings{"fence: "});
  EXPECT_EQ(afters("wgmma.fence.sync.aligned;"), Strings{"fence: "});
  EXPECT_EQ(afters("wgmma.commit_group.sync.aligned;"), Strings{"commit: "});
  EXPECT_EQ(afters("cp.async.commit_group;"), Strings{"commit: "});
  EXPECT_EQ(afters("cp.async.bulk.commit_group;"), Strings{"commit: "});
  EXPECT_EQ(afters("cp.async.wait_all;"), Strings{"wait: "});
  EXPECT_EQ(afters("cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];"),
            (Strings{"arrive: ", "offset: cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+8];"}));
}

TEST(Mutate, AFieldThatReachesTheEndOfTheWordBecomesShorter) {
  const auto has = [](const std::string& body, const std::string& after) {
    const Strings all = afters(body);
    return std::find(all.begin(), all.end(), "immediate: " + after) != all.end();
  };
  EXPECT_TRUE(has("bfi.b32 %r1, %r2, %r3, 12, 20;", "bfi.b32 %r1, %r2, %r3, 12, 19;"));
  EXPECT_FALSE(has("bfi.b32 %r1, %r2, %r3, 12, 20;", "bfi.b32 %r1, %r2, %r3, 12, 21;"));
  EXPECT_TRUE(has("bfi.b32 %r1, %r2, %r3, 12, 19;", "bfi.b32 %r1, %r2, %r3, 12, 20;"));
  EXPECT_TRUE(has("bfe.u32 %r1, %r2, 24, 8;", "bfe.u32 %r1, %r2, 24, 7;"));
}

TEST(Mutate, AnAddendOfMinusZeroIsNoneToLose) {
  const auto lost = [](const std::string& body) {
    const Strings all = afters(body);
    return std::count_if(all.begin(), all.end(),
                         [](const std::string& after) { return after.starts_with("arithmetic: mul"); });
  };
  EXPECT_EQ(lost("mov.b32 %r4, -2147450880; fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), 0);
  EXPECT_EQ(lost("mov.b32 %r4, 0x80008000; fma.rn.f16x2 %r1, %r2, %r3, %r4;"), 0);
  EXPECT_EQ(lost("mov.f32 %f4, 0f80000000; fma.rn.f32 %f1, %f2, %f3, %f4;"), 0);
  EXPECT_EQ(lost("mov.f32 %f4, 0f00000000; fma.rn.f32 %f1, %f2, %f3, %f4;"), 1);
  EXPECT_EQ(lost("mov.b32 %r4, 32768; fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), 1);
  EXPECT_EQ(lost("@%p1 mov.b32 %r4, -2147450880; fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), 1);
  EXPECT_EQ(lost("mov.b32 %r4, -2147450880; mov.b32 %r4, %r5; fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), 1);
  EXPECT_EQ(lost("fma.rn.bf16x2 %r1, %r2, %r3, %r4;"), 1);
}

TEST(Mutate, WaitsPassAndCountsChange) {
  EXPECT_EQ(afters("wgmma.wait_group.sync.aligned 1;"),
            (Strings{"wait: ", "count: wgmma.wait_group.sync.aligned 2;"}));
  EXPECT_EQ(afters("bar.sync 1, 64;"),
            (Strings{"barrier: ", "count: bar.sync 1, 96;", "count: bar.sync 1, 32;"}));
  EXPECT_EQ(afters("mbarrier.init.shared::cta.b64 [%r1], 2;"),
            (Strings{"count: mbarrier.init.shared::cta.b64 [%r1], 3;",
                     "count: mbarrier.init.shared::cta.b64 [%r1], 1;",
                     "offset: mbarrier.init.shared::cta.b64 [%r1+8], 2;"}));
  EXPECT_EQ(afters("mbarrier.arrive.shared::cta.b64 %rd1, [%r1];").front(), "arrive: mov.b64 %rd1, 0;");
  EXPECT_EQ(afters("mbarrier.arrive.shared::cta.b64 _, [%r1];").front(), "arrive: ");
}

TEST(Mutate, TransactionsOfOneArrival) {
  const Strings expected = {
      "arrive: ",
      "expect_tx: mbarrier.arrive.shared::cta.b64 _, [%r1];",
      "count: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4112;",
      "count: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4080;",
      "offset: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+8], 4096;",
  };
  EXPECT_EQ(afters("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4096;"), expected);
}

TEST(Mutate, ParityOfARegisterIsComputed) {
  const auto mutants =
      mutants_in("LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;\n@!%p1 bra LOOP;");
  ASSERT_GE(mutants.size(), 3u);
  EXPECT_EQ(mutants[0].after, "setp.eq.u32 %p1, 0, 0;");
  EXPECT_EQ(mutants[1].after,
            "{ .reg .b32 moe4_mutant; xor.b32 moe4_mutant, %r2, 1; "
            "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], moe4_mutant; }");
  EXPECT_EQ(afters("mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;")[1],
            "parity: mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 1;");
}

TEST(Mutate, OrdersAndScopes) {
  EXPECT_EQ(afters("ld.global.acquire.gpu.b32 %r1, [%rd1];"),
            (Strings{"order: ld.global.relaxed.gpu.b32 %r1, [%rd1];",
                     "order: ld.global.acquire.cta.b32 %r1, [%rd1];",
                     "offset: ld.global.acquire.gpu.b32 %r1, [%rd1+4];"}));
  EXPECT_EQ(afters("fence.acq_rel.gpu;"), (Strings{"fence: ", "order: fence.acq_rel.cta;"}));
  EXPECT_EQ(afters("st.volatile.shared.u32 [%r1], %r2;").front(), "order: st.shared.u32 [%r1], %r2;");
}

TEST(Mutate, AddressesMoveByWhatIsMoved) {
  EXPECT_EQ(afters("ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+-16];"),
            (Strings{"offset: ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
                     "swap: ld.global.nc.v4.u32 {%r2, %r1, %r3, %r4}, [%rd1+-16];"}));
  EXPECT_EQ(afters("st.shared.u8 [ %r1 + 4 ], %h1;"), Strings{"offset: st.shared.u8 [%r1+5], %h1;"});
  EXPECT_EQ(afters("ld.param.u64 %rd1, [out];"), Strings{"offset: ld.param.u64 %rd1, [out+8];"});
  EXPECT_EQ(afters("cp.async.cg.shared.global [%r1], [%rd1], 16;"),
            (Strings{"offset: cp.async.cg.shared.global [%r1+16], [%rd1], 16;",
                     "offset: cp.async.cg.shared.global [%r1], [%rd1+16], 16;"}));
  const Strings tensor = {
      "offset: cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1+128], [%rd1, {0, "
      "%r3}], [%r4];",
      "offset: cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {1, "
      "%r3}], [%r4];",
      "offset: { .reg .b32 moe4_mutant; add.s32 moe4_mutant, %r3, 1; "
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, "
      "moe4_mutant}], [%r4]; }",
      "offset: cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, "
      "%r3}], [%r4+8];",
  };
  EXPECT_EQ(
      afters("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, "
             "%r3}], [%r4];"),
      tensor);
}

TEST(Mutate, Constants) {
  EXPECT_EQ(afters("mov.u32 %r1, 24;"), Strings{"immediate: mov.u32 %r1, 32;"});
  EXPECT_EQ(afters("mov.u32 %r1, 0xffffffff;"), Strings{"immediate: mov.u32 %r1, 0;"});
  EXPECT_EQ(afters("mov.f32 %f1, 0f00000000;"), Strings{"immediate: mov.f32 %f1, 0f3F800000;"});
  EXPECT_EQ(afters("mov.f32 %f1, 0f7F800000;"), Strings{"immediate: mov.f32 %f1, 0fFF800000;"});
  EXPECT_EQ(afters("mov.f64 %fd1, 0d3FF0000000000000;"),
            Strings{"immediate: mov.f64 %fd1, 0d4000000000000000;"});
  EXPECT_EQ(afters("shl.b32 %r1, %r2, 31;"), Strings{"shift: shl.b32 %r1, %r2, 30;"});
  EXPECT_EQ(afters("shr.u64 %rd1, %rd2, 59;"), Strings{"shift: shr.u64 %rd1, %rd2, 60;"});
  EXPECT_EQ(afters("and.b32 %r1, %r2, -16;")[0], "immediate: and.b32 %r1, %r2, -32;");
  EXPECT_EQ(afters("shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;"),
            (Strings{"immediate: shfl.sync.bfly.b32 %r1|%p1, %r2, 17, 31, -1;",
                     "immediate: shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 32, -1;"}));
  EXPECT_EQ(afters("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, "
                   "1, 1, 0, 1;")
                .size(),
            6u);  // four immediates, the predicate, two accumulators
}

TEST(Mutate, PredicatesAndComparisons) {
  EXPECT_EQ(afters("L: @!%p1 bra L;"), (Strings{"predicate: bra L;", "predicate: @%p1 bra L;"}));
  EXPECT_EQ(afters("not.pred %p1, %p2;"), Strings{"predicate: mov.pred %p1, %p2;"});
  EXPECT_EQ(afters("setp.lt.and.u32 %p1|%p2, %r1, %r2, !%p3;"),
            (Strings{"predicate: setp.lt.and.u32 %p1|%p2, %r1, %r2, %p3;",
                     "swap: setp.lt.and.u32 %p1|%p2, %r2, %r1, !%p3;",
                     "compare: setp.le.and.u32 %p1|%p2, %r1, %r2, !%p3;"}));
  EXPECT_EQ(afters("setp.eq.s32 %p1, %r1, %r2;"), Strings{"compare: setp.ne.s32 %p1, %r1, %r2;"});
}

TEST(Mutate, SourcesOnlyWhereOrderMatters) {
  EXPECT_EQ(afters("add.s32 %r1, %r2, %r3;"), Strings{"arithmetic: sub.s32 %r1, %r2, %r3;"});
  EXPECT_EQ(afters("sub.s32 %r1, %r2, %r3;"),
            (Strings{"swap: sub.s32 %r1, %r3, %r2;", "arithmetic: add.s32 %r1, %r2, %r3;"}));
  EXPECT_EQ(afters("fma.rn.f32 %f1, %f2, %f3, %f4;"),
            (Strings{"swap: fma.rn.f32 %f1, %f2, %f4, %f3;", "rounding: fma.rz.f32 %f1, %f2, %f3, %f4;",
                     "arithmetic: mul.rn.f32 %f1, %f2, %f3;"}));
  // 0x80: a and b and c, the same in every order. 0xCA: a ? b : c.
  EXPECT_EQ(afters("lop3.b32 %r1, %r2, %r3, %r4, 0x80;"),
            Strings{"immediate: lop3.b32 %r1, %r2, %r3, %r4, 0;"});
  EXPECT_EQ(afters("lop3.b32 %r1, %r2, %r3, %r4, 0xCA;").back(), "swap: lop3.b32 %r1, %r3, %r2, %r4, 0xCA;");
  EXPECT_EQ(afters("mov.b32 %r1, {%h1, %h1};"), Strings{});
}

TEST(Mutate, Roundings) {
  EXPECT_EQ(afters("cvt.rn.bf16.f32 %h1, %f1;"), Strings{"rounding: cvt.rz.bf16.f32 %h1, %f1;"});
  EXPECT_EQ(afters("cvt.rzi.s32.f32 %r1, %f1;"), Strings{"rounding: cvt.rni.s32.f32 %r1, %f1;"});
  EXPECT_EQ(afters("add.f32 %f1, %f2, %f3;").front(), "rounding: add.rz.f32 %f1, %f2, %f3;");
  EXPECT_EQ(afters("cvt.u32.u16 %r1, %h1;"), Strings{});
}

TEST(Mutate, NamesAreUniqueAndStable) {
  const std::string body = "add.s32 %r1, %r2, 4; add.s32 %r2, %r1, 4;\nbar.sync 0; bar.sync 0;";
  const std::string text = text_of(body);
  const auto first = mutants_of(text, "", nullptr), second = mutants_of(text, "kernel", nullptr);
  ASSERT_TRUE(first && second);
  std::set<std::string> names;
  for (std::size_t n = 0; n < first->size(); ++n) {
    EXPECT_TRUE(names.insert((*first)[n].name).second) << (*first)[n].name;
    EXPECT_EQ((*first)[n].name, (*second)[n].name);
  }
  EXPECT_EQ(names.size(), 6u);
}

TEST(Mutate, RefusesWhatItCannotRead) {
  Error error;
  EXPECT_FALSE(mutants_of("no PTX", "", &error));
  EXPECT_FALSE(error.message.empty());
  EXPECT_FALSE(mutants_of(text_of(""), "other", &error));
  EXPECT_EQ(error.message, "no entry other");
  EXPECT_FALSE(mutation_named("barriers"));
  for (const Mutation kind : all_mutations()) EXPECT_EQ(mutation_named(name_of(kind)), kind);
}

TEST(Mutate, OtherEntriesAreLeftAlone) {
  const std::string text = module_header() + entry("kernel", "", "bar.sync 0;\nret;") +
                           entry("other", "", "bar.sync 0;\nbar.sync 0;\nret;");
  EXPECT_EQ(mutants_of(text, "kernel", nullptr)->size(), 1u);
  EXPECT_EQ(mutants_of(text, "other", nullptr)->size(), 2u);
  EXPECT_EQ(mutants_of(text, "", nullptr)->size(), 3u);
}

}  // namespace
}  // namespace moe4::ptx::test
