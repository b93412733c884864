// The probes themselves: the table, the PTX that is made of it, the operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "oracle/generate/random.h"
#include "oracle/hardware/float_bits.h"
#include "oracle/hardware/probe_operands.h"
#include "oracle/hardware/probe_ptx.h"
#include "oracle/hardware/probe_table.h"

namespace moe4::oracle {
namespace {

TEST(HardwareProbes, TheTableOfThisBuildIsValid) {
  const Result<std::vector<Probe>> parsed = parse_probes(kProbeTable);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(parsed->size(), probes().size());
  EXPECT_GT(probes().size(), 100u);
  int tiles = 0, approximate = 0;
  for (const Probe& probe : probes()) {
    EXPECT_EQ(find_probe(probe.name), &probe);
    tiles += probe.form != Probe::Form::kScalar;
    approximate += probe.bound.kind != ProbeBound::Kind::kExact;
    const bool says_so = probe.name.find(".approx") != std::string::npos || probe.name == "div.full.f32";
    EXPECT_EQ(probe.bound.kind != ProbeBound::Kind::kExact, says_so) << probe.name;
  }
  EXPECT_EQ(tiles, 6);
  EXPECT_GT(approximate, 10);
}

TEST(HardwareProbes, BentLinesAreRefusedWithTheirNumber) {
  const std::map<std::string, std::string> bent = {
      {"add.rn.f32 sm_80 f32", "wants"},
      {"add.rn.f32 sm_80 f31 f32,f32 exact", "no such type"},
      {"add.rn.f32 sm_80 f32 f32,f33 exact", "no such operand"},
      {"cvt.rn.bf16.f32 sm_80 bf16 f32:b16 exact", "no such operand"},
      {"lop3.b32 sm_80 b32 b32,b32,b32,#0xzz exact", "no such operand"},
      {"lop3.b32 sm_80 b32 #1,b32 exact", "first operand"},
      {"rcp.approx.f32 sm_80 f32 f32 nearly", "no such bound"},
      {"rcp.approx.f32 sm_80 f32 f32 ulp -1", "no such bound"},
      {"rcp.approx.f32 sm_80 f32 f32 relative 2^x", "no such bound"},
      {"rcp.approx.f64 sm_80 f64 f64 ulp 1", "needs a result of f32"},
      {"mma.sync.aligned.m16n16k16.row.col.f32.f16.f16.f32 sm_80 f32 f16,f16,f32 exact", "no kernel"},
      {"mma.sync.aligned.row.col.f32.f16.f16.f32 sm_80 f32 f16,f16,f32 exact", "no kernel"}};
  for (const auto& [line, says] : bent) {
    const auto parsed = parse_probes("# comment\n\n" + line + "\n");
    ASSERT_FALSE(parsed.ok()) << line;
    EXPECT_NE(parsed.error().field.find("line 3"), std::string::npos) << parsed.error().field;
    EXPECT_NE(parsed.error().rule.find(says), std::string::npos) << parsed.error().rule;
  }
  const std::string line = "add.rn.f32 sm_80 f32 f32,f32 exact\n";
  EXPECT_TRUE(parse_probes(line).ok());
  EXPECT_FALSE(parse_probes(line + line).ok());
}

// ptxas takes every probe, and would run what the executor runs: the entries of a target in one module.
TEST(HardwareProbes, PtxasAssemblesEveryProbe) {
  if (std::string(MOE4_PTXAS).empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
  std::map<std::string, std::string> modules;
  int number = 0;
  for (const Probe& probe : probes()) {
    std::string text = probe_ptx(probe);
    const auto entry = text.find(".visible");
    ASSERT_NE(entry, std::string::npos);
    std::string& module = modules[probe.target];
    if (module.empty()) module = text.substr(0, entry);
    std::string body = text.substr(entry);
    body.replace(body.find("probe("), 6, "probe_" + std::to_string(number++) + "(");
    module += body;
  }
  EXPECT_EQ(modules.size(), 3u);
  for (const auto& [target, text] : modules) {
    const std::string path = testing::TempDir() + "probes_" + target + ".ptx";
    std::ofstream(path) << text;
    const std::string command =
        std::string("'") + MOE4_PTXAS + "' -arch=" + target + " -o /dev/null '" + path + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

// Same seed, same bytes; fewer instances are the beginning of more; another seed is other data.
TEST(HardwareProbes, OperandsAreAFunctionOfSeedAndInstance) {
  for (const char* name : {"fma.rn.f32", "cvt.rn.bf16x2.f32", "bfi.b32", "lop3.b32,0x96",
                           "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"}) {
    const Probe& probe = *find_probe(name);
    const ProbeOperands many = probe_operands(probe, 3, 80), few = probe_operands(probe, 3, 7);
    EXPECT_EQ(many, probe_operands(probe, 3, 80));
    EXPECT_NE(many, probe_operands(probe, 4, 80));
    for (std::size_t n = 0; n < many.size(); ++n) {
      ASSERT_EQ(many[n].size(), 80 * probe.operand_bytes(n));
      EXPECT_TRUE(std::equal(few[n].begin(), few[n].end(), many[n].begin()));
    }
  }
}

// What an operand must meet for the probe to say anything: each class of number, and the ties.
TEST(HardwareProbes, OperandsMeetEdgesTiesAndCancellation) {
  const FloatBits f{8, 23};
  const auto words = [](const char* name) {
    const ProbeOperands operands = probe_operands(*find_probe(name), 1, 1024);
    std::vector<std::vector<std::uint32_t>> all;
    for (const auto& bytes : operands) {
      std::vector<std::uint32_t> values(1024);
      std::memcpy(values.data(), bytes.data(), bytes.size());
      all.push_back(values);
    }
    return all;
  };
  const auto add = words("add.rn.f32");
  int zero = 0, subnormal = 0, infinite = 0, nan = 0, cancels = 0;
  for (std::size_t at = 0; at < 1024; ++at) {
    const std::uint32_t x = add[0][at], magnitude = x & 0x7fffffff;
    zero += magnitude == 0;
    subnormal += magnitude != 0 && magnitude < 0x00800000;
    infinite += magnitude == 0x7f800000;
    nan += f.is_nan(x);
    cancels += ((x ^ add[1][at]) & ~3u) == 0x80000000u;
  }
  for (const int count : {zero, subnormal, infinite, nan, cancels}) EXPECT_GT(count, 4);
  int ties = 0, even = 0;
  const auto cvt = words("cvt.rn.bf16.f32");
  for (const std::uint32_t x : cvt[0]) {
    if ((x & 0xffff) != 0x8000 || (x & 0x7f800000) == 0x7f800000) continue;
    ++ties;
    even += (x & 0x10000) == 0;
  }
  EXPECT_GT(ties, 40);
  EXPECT_GT(even, 10);
  EXPECT_LT(even, ties - 10);
}

}  // namespace
}  // namespace moe4::oracle
