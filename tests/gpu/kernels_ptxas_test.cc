// Build checks that need ptxas and no GPU: every kernel file assembles for its targets, and to the same
// code whether or not ptxas may contract mul and add into fma. Where the code differs, a rounding has been
// left to the compiler.
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <sstream>
#include <vector>

#include "gpu/launch/variant.h"
#include "tests/gpu/kernels_cubin.h"

namespace moe4::gpu {
namespace {

using test::Assembled;

class KernelsPtxas : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(MOE4_PTXAS).empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
  }
};

// Lines of ptxas -v that name the entry, registers and spills.
std::string resources(const std::string& log) {
  std::string kept;
  std::size_t at = 0;
  while (at < log.size()) {
    const std::size_t end = std::min(log.find('\n', at), log.size() - 1) + 1;
    const std::string line = log.substr(at, end - at);
    for (const char* word : {"Compiling", "registers", "spill"}) {
      if (line.find(word) == std::string::npos) continue;
      kept += line;
      break;
    }
    at = end;
  }
  return kept;
}

// The lines of ptxas -v that speak of spills which are not zero.
std::string spills(const std::string& log) {
  std::string found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const bool none = line.find(" 0 bytes spill stores, 0 bytes spill loads") != std::string::npos;
    if (line.find("spill") != std::string::npos && !none) found += line + "\n";
  }
  return found;
}

// The lines that say that ptxas has put a wait after a product, since its registers are used while it is
// under way.
std::string waits_added(const std::string& log) {
  std::string found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const bool says =
        line.find("serialized") != std::string::npos || line.find("injected") != std::string::npos;
    if (says) found += line + "\n";
  }
  return found;
}

// As gpu/CMakeLists.txt compiles them: Hopper alone has wgmma, and decode kernels are Blackwell's too.
std::vector<std::string> targets_of(const std::string& stem) {
  if (stem.find("_wgmma") != std::string::npos) return {"90a"};
  if (stem.ends_with("_decode") || stem.ends_with("_wide")) return {"90a", "100a"};
  return {"80", "90a"};
}

TEST_F(KernelsPtxas, ASpillIsSeen) {
  const std::string log = "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n";
  EXPECT_NE(spills(log), "");
  EXPECT_EQ(spills("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"), "");
}

TEST_F(KernelsPtxas, EveryFileAssemblesAndLeavesNoRoundingFree) {
  std::set<std::string> stems;
  for (const Variant& variant : variants()) {
    const std::size_t slash = variant.file.rfind('/');
    stems.emplace(variant.file.substr(slash + 1, variant.file.rfind('.') - slash - 1));
  }
  ASSERT_FALSE(stems.empty());
  for (const std::string& stem : stems) {
    for (const std::string& arch : targets_of(stem)) {
      SCOPED_TRACE(stem + " sm_" + arch);
      const std::string path = std::string(MOE4_PTX_DIR) + "/compute_" + arch + "/" + stem + ".ptx";
      const Assembled free = test::assemble(path, arch, "");
      const Assembled pinned = test::assemble(path, arch, "--fmad false");
      ASSERT_TRUE(free.ok) << free.log;
      ASSERT_TRUE(pinned.ok) << pinned.log;
      std::cout << stem << ".cu, sm_" << arch << "\n" << resources(free.log);
      EXPECT_EQ(spills(free.log), "");
      EXPECT_EQ(waits_added(free.log), "");
      std::size_t entries = 0;
      for (const Variant& variant : variants()) {
        if (variant.file != "gpu/kernels/" + stem + ".cu") continue;
        const std::string section = ".text." + std::string(variant.name);
        ASSERT_TRUE(free.code.contains(section));
        EXPECT_GT(free.code.at(section).size(), 1000u);
        ++entries;
      }
      EXPECT_EQ(free.code.size(), entries) << "a code section that no variant names";
      EXPECT_EQ(free.code, pinned.code);
    }
  }
}

// A product whose sums are written between its issue and its wait.
TEST_F(KernelsPtxas, AWaitThatIsAddedIsSeen) {
  std::string sums, clear;
  for (int n = 0; n < 4; ++n) {
    sums += (n > 0 ? ", %f" : "%f") + std::to_string(n);
    clear += "mov.f32 %f" + std::to_string(n) + ", 0f00000000;\n";
  }
  const std::string product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" + sums +
                              "}, {%r0, %r0, %r0, %r0}, %rd0, %p0, 1, 1, 0;\n";
  const auto kernel = [&](const std::string& between) {
    return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 p)\n{\n"
           ".reg .f32 %f<4>;\n.reg .b32 %r<1>;\n.reg .b64 %rd<2>;\n.reg .pred %p<1>;\n"
           "ld.param.u64 %rd0, [p];\ncvta.to.global.u64 %rd1, %rd0;\nmov.u32 %r0, 0;\n"
           "setp.eq.u32 %p0, %r0, 0;\n" +
           clear + "wgmma.fence.sync.aligned;\n" + product + between + product +
           "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
           "st.global.f32 [%rd1], %f0;\nst.global.f32 [%rd1+4], %f3;\nret;\n}\n";
  };
  const Assembled good = test::assemble_text(kernel(""), "90a", ""),
                  bad = test::assemble_text(kernel("add.f32 %f1, %f1, %f1;\n"), "90a", "");
  ASSERT_TRUE(good.ok && bad.ok) << good.log << bad.log;
  EXPECT_EQ(waits_added(good.log), "");
  EXPECT_NE(waits_added(bad.log), "") << bad.log;
}

std::string multiply_and_add(const std::string& rounding) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 p)
{
  .reg .f32 %f<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd1, %rd1;
  ld.global.f32 %f1, [%rd1];
  ld.global.f32 %f2, [%rd1+4];
  ld.global.f32 %f3, [%rd1+8];
  mul)" + rounding +
         R"(.f32 %f4, %f1, %f2;
  add)" + rounding +
         R"(.f32 %f5, %f4, %f3;
  st.global.f32 [%rd1], %f5;
  ret;
}
)";
}

TEST_F(KernelsPtxas, AFreeRoundingIsSeenAndAPinnedOneIsNone) {
  for (const std::string arch : {"80", "90a"}) {
    const std::string free = multiply_and_add(""), pinned = multiply_and_add(".rn");
    const Assembled one = test::assemble_text(free, arch, ""),
                    two = test::assemble_text(free, arch, "--fmad false");
    ASSERT_TRUE(one.ok && two.ok) << one.log << two.log;
    ASSERT_EQ(one.code.size(), 1u);
    EXPECT_NE(one.code, two.code) << "sm_" << arch;
    EXPECT_EQ(test::assemble_text(pinned, arch, "").code,
              test::assemble_text(pinned, arch, "--fmad false").code);
  }
}

TEST_F(KernelsPtxas, WhatPtxasRefusesIsNotOk) { EXPECT_FALSE(test::assemble_text("no PTX", "90a", "").ok); }

}  // namespace
}  // namespace moe4::gpu
