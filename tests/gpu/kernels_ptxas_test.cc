// Build checks that need ptxas and no GPU: every kernel file assembles for sm_80 and sm_90a, and to the same
// code whether or not ptxas may contract mul and add into fma. Where the code differs, a rounding has been
// left to the compiler.
#include <gtest/gtest.h>

#include <iostream>
#include <set>
#include <sstream>

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
    for (const std::string arch : {"80", "90a"}) {
      SCOPED_TRACE(stem + " sm_" + arch);
      const std::string path = std::string(MOE4_PTX_DIR) + "/compute_" + arch + "/" + stem + ".ptx";
      const Assembled free = test::assemble(path, arch, "");
      const Assembled pinned = test::assemble(path, arch, "--fmad false");
      ASSERT_TRUE(free.ok) << free.log;
      ASSERT_TRUE(pinned.ok) << pinned.log;
      std::cout << stem << ".cu, sm_" << arch << "\n" << resources(free.log);
      EXPECT_EQ(spills(free.log), "");
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
