// moe4 selftest --mutate, moe4 ptx run and moe4 check --bits: exit codes, what is said, and bad input.
#include <nlohmann/json.hpp>

#include "gpu/launch/variant.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

class CliKernel : public CliCommand {
 protected:
  // A kernel of this build as a file of somebody else, with a declaration for small cases only.
  void SetUp() override {
    CliCommand::SetUp();
    for (const gpu::Variant& variant : gpu::variants()) {
      if (variant.name == "mxfp4_linear_tile_bf16") ptx_ = variant.ptx;
    }
    if (ptx_.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
    declaration_ = Json::parse(*read_file(MOE4_SOURCE_DIR "/docs/examples/tile_as_foreign.json"));
    declaration_["in_max"] = 96;
    declaration_["out_max"] = 12;
    declaration_["tokens_max"] = 4;
    write();
  }

  void write() const {
    ASSERT_FALSE(write_file(path("k.ptx"), ptx_));
    ASSERT_FALSE(write_file(path("k.json"), declaration_.dump(2)));
  }

  Outcome run(const std::string& line) const {
    return moe4({"ptx", "run", path("k.ptx"), line, "--declare", path("k.json")});
  }

  Outcome mutate(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"selftest", "--mutate", path("k.ptx"), "--declare", path("k.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return moe4(arguments);
  }

  void says(const Outcome& outcome, int code, const std::string& part) const {
    EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_HAS(outcome.err, part);
  }

  std::string ptx_;
  Json declaration_;
};

constexpr const char* kLine =
    "op=expert_linear weights=mxfp4 tokens=3 experts=2 top_k=1 in=64 out=5 dtype=bf16 fill=real seed=0x7";

TEST_F(CliKernel, PtxRunPassesAndFails) {
  const Outcome passed = run(kLine);
  EXPECT_EQ(passed.code, 0) << passed.err << passed.out;
  EXPECT_HAS(passed.out, "PASSED tile_taken_as_foreign: ");

  // It sums by groups, and promises the bits of one chain.
  declaration_["launch"]["entry"] = "mxfp4_linear_tile_f32";
  declaration_["dtypes"] = {"f32"};
  declaration_["order"] = "seq";
  declaration_["bits"] = "declared";
  write();
  const Outcome wrong = run(
      "op=expert_linear weights=mxfp4 tokens=4 experts=2 top_k=2 in=96 out=12 dtype=f32 fill=real seed=0x7");
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_HAS(wrong.out, "VER-17");
  EXPECT_HAS(wrong.out, "--declare " + path("k.json"));
  // Where it leaves the promised chain, and what it computes instead.
  EXPECT_HAS(wrong.out, "first step: i = ");
  EXPECT_HAS(wrong.out, "all outputs compared have the bits of order=groups(32)");
}

TEST_F(CliKernel, PtxRunRefusesBadInput) {
  says(run("op=expert_linear weights=mxfp4 tokenz=3"), 2, "tokens");
  says(moe4({"ptx", "run", path("none.ptx"), kLine, "--declare", path("k.json")}), 2, "none.ptx");
  says(moe4({"ptx", "run", path("k.ptx"), kLine, "--declare", path("none.json")}), 2, "none.json");
  says(moe4({"ptx", "run", path("k.ptx"), kLine}), 2, "--declare");
  // Too large for what the declaration accepts: nothing ran.
  const Outcome unsupported = run(std::string(kLine) + " in=128");
  EXPECT_NE(unsupported.code, 0);
  Json other = declaration_;
  other["launch"]["entry"] = "mxfp4_linear_tile_bf17";
  ASSERT_FALSE(write_file(path("k.json"), other.dump()));
  says(run(kLine), 2, "mxfp4_linear_tile_bf16");
  other = declaration_;
  other["bits"] = "declared";
  other["order"] = "any";
  ASSERT_FALSE(write_file(path("k.json"), other.dump()));
  says(run(kLine), 2, "declaration.bits");
  ASSERT_FALSE(write_file(path("k.json"), declaration_.dump()));
  ASSERT_FALSE(write_file(path("k.ptx"), "this is no PTX"));
  says(run(kLine), 2, "k.ptx:1");
}

TEST_F(CliKernel, MutantsOfAFileAreKilledOrNamed) {
  // Every barrier and every guard of a group's loop: all are seen.
  const Outcome all = mutate({"--kinds", "barrier"});
  EXPECT_EQ(all.code, 0) << all.out << all.err;
  EXPECT_HAS(all.out, "barrier ");
  EXPECT_HAS(all.out, "100.0 %");
  EXPECT_HAS(all.out, "PASSED: 100.0 % of the mutants of tile_taken_as_foreign are killed by ");
  const Outcome few = mutate({"--limit", "3", "--seed", "5", "--jobs", "1"});
  EXPECT_TRUE(few.code == 0 || few.code == 5) << few.err;
  EXPECT_HAS(few.out, "total" + std::string(13, ' ') + "3 ");
  // A rounding inside of the interval is not seen unless the declaration promises bits.
  const Outcome weak = mutate({"--kinds", "rounding", "--limit", "8"});
  EXPECT_EQ(weak.code, 5) << weak.out;
  EXPECT_HAS(weak.out, "the floor is 95 %, which is not met");
  EXPECT_HAS(weak.out, "survivors: no case tells them from the subject");
}

TEST_F(CliKernel, MutateRefusesBadInput) {
  says(moe4({"selftest", "--mutate", "combine_onze_bf16"}), 2, "combine_once_bf16");
  says(mutate({"--kinds", "barier"}), 2, "barrier");
  says(mutate({"--limit", "0"}), 2, "--limit");
  says(mutate({"--tier", "smok"}), 2, "smoke");
  says(mutate({"--equivalent", path("none.json")}), 2, "none.json");
  ASSERT_FALSE(write_file(path("ledger.json"), R"({"schema": 1, "subjects": {"k": [{"reason": ""}]}})"));
  says(mutate({"--equivalent", path("ledger.json")}), 2, "ledger.subjects.k[0]");
  says(moe4({"selftest", "--declare", path("k.json")}), 2, "--mutate");
  says(moe4({"selftest", "--limit", "3"}), 2, "--mutate");
  // A kernel that is wrong before it is mutated.
  declaration_["profile"] = "early";
  write();
  const Outcome unhealthy = mutate({"--limit", "1"});
  EXPECT_EQ(unhealthy.code, 1) << unhealthy.out;
  EXPECT_HAS(unhealthy.err, "passes every case before it is mutated");
}

TEST_F(CliKernel, AWrongLedgerIsCode5) {
  ASSERT_FALSE(write_file(path("ledger.json"), R"({"schema": 1, "subjects": {"tile_taken_as_foreign": [
      {"reason": "there is no such line", "mutants": {"barrier:1:drop bar.sync": "bar.sync 0;"}}]}})"));
  const Outcome outcome = mutate({"--kinds", "barrier", "--equivalent", path("ledger.json")});
  EXPECT_EQ(outcome.code, 5) << outcome.out;
  EXPECT_HAS(outcome.out, "there is no such mutant");
}

class CliBits : public CliCommand {};

TEST_F(CliBits, CheckAsksForTheBits) {
  const std::string line =
      "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=256 out=9 dtype=f32 fill=real seed=0x7";
  ASSERT_EQ(moe4({"gen", line, "--out", path("case")}).code, 0);
  ASSERT_EQ(moe4({"reference", path("case"), "--order", "seq", "--out", path("result")}).code, 0);
  const auto check = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"check", path("case"), path("result"), "--bits", "declared"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return moe4(arguments);
  };
  const Outcome right = check({"--order", "seq", "--accumulation", "f32_sequential"});
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_HAS(right.out, "45 of them have the bits of the declared arithmetic");
  const Outcome wrong =
      check({"--order", "groups(32)", "--accumulation", "f32_sequential", "--json", path("verdict.json")});
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_HAS(wrong.out, "FAILED  VER-17");
  EXPECT_HAS(wrong.out, "--bits declared");
  const Json verdict = Json::parse(*read_file(path("verdict.json")));
  EXPECT_EQ(verdict["bits_compared"], 45);
  EXPECT_GT(verdict["bits_differ"], 0);
  EXPECT_EQ(verdict["mismatched"], 0);

  const Outcome open = check({"--order", "seq"});
  EXPECT_EQ(open.code, 2);
  EXPECT_HAS(open.err, "VER-17");
  EXPECT_EQ(check({"--accumulation", "f32_sequential"}).code, 2);
  EXPECT_EQ(moe4({"check", path("case"), path("result"), "--bits", "all"}).code, 2);
}

}  // namespace
}  // namespace moe4::oracle
