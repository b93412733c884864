// Histogram and free roundings.
#include <gtest/gtest.h>

#include "gpu/ptx/study/study.h"
#include "tests/gpu/ptx/ptx_kernel.h"

namespace moe4::ptx::test {
namespace {

Study study_of(const std::string& body) {
  Error error;
  const auto result = study(kernel("", body + "\nret;"), "kernel", &error);
  EXPECT_TRUE(result) << error.message;
  return result.value_or(Study{});
}

std::size_t free_in(const std::string& body) { return study_of(body).free_roundings.size(); }

TEST(Study, CountsOpcodes) {
  const Study result = study_of("mov.u32 %r1, 0;\n@%p1 mov.u32 %r2, 1;\nadd.s32 %r3, %r1, %r2;");
  ASSERT_EQ(result.histogram.size(), 3u);
  EXPECT_EQ(result.histogram[0].opcode, "mov.u32");
  EXPECT_EQ(result.histogram[0].count, 2);
  EXPECT_EQ(result.histogram[1].opcode, "add.s32");
}

TEST(Study, ProductsThatMayBeFused) {
  EXPECT_EQ(free_in("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;"), 1u);
  EXPECT_EQ(free_in("mul.ftz.f32 %f1, %f2, %f3;\nsub.ftz.f32 %f4, %f5, %f1;"), 1u);
  EXPECT_EQ(free_in("mul.f64 %fd1, %fd2, %fd3;\nadd.f64 %fd4, %fd1, %fd5;\nadd.f64 %fd6, %fd5, %fd1;"), 2u);
  // In a loop the sum may stand above the product.
  EXPECT_EQ(free_in("L: add.f32 %f4, %f4, %f1;\nmul.f32 %f1, %f2, %f3;\n@%p1 bra L;"), 1u);
  const FreeRounding found =
      study_of("mul.f32 %f1, %f2, %f3;\nmov.u32 %r1, 0;\nadd.f32 %f4, %f1, %f5;").free_roundings.at(0);
  EXPECT_EQ(found.sum_line, found.line + 2);
  EXPECT_EQ(found.product, "mul.f32 %f1, %f2, %f3");
}

TEST(Study, ProductsThatMayNot) {
  EXPECT_EQ(free_in("mul.rn.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f1, %f5;"), 0u);
  EXPECT_EQ(free_in("mul.f32 %f1, %f2, %f3;\nadd.rn.f32 %f4, %f1, %f5;"), 0u);
  EXPECT_EQ(free_in("mul.f32 %f1, %f2, %f3;\nadd.f32 %f4, %f6, %f5;"), 0u);
  EXPECT_EQ(free_in("mul.lo.s32 %r1, %r2, %r3;\nadd.s32 %r4, %r1, %r5;"), 0u);
  EXPECT_EQ(free_in("{ .reg .f32 f1; mul.f32 f1, %f2, %f3; }\n{ .reg .f32 f1; add.f32 %f4, f1, %f5; }"), 0u);
}

TEST(Study, RefusesWhatIsNotThere) {
  Error error;
  EXPECT_FALSE(study("x", "kernel", &error));
  EXPECT_FALSE(study(kernel("", "ret;"), "other", &error));
  EXPECT_EQ(error.message, "no entry other");
}

}  // namespace
}  // namespace moe4::ptx::test
