// The built command on every operation, and on files that are not what they should be.
#include "oracle/file/case_file.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

class CliOps : public CliCommand {
 protected:
  // A case file and the norm's result for it.
  void write_pair() const {
    const char* line =
        "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 fill=bits seed=0x7";
    ASSERT_EQ(moe4({"gen", line, "--out", path("case")}).code, 0);
    ASSERT_EQ(moe4({"reference", path("case"), "--out", path("result")}).code, 0);
  }
};

TEST_F(CliOps, GenReferenceCheckRoundTripOfEveryOperation) {
  for (const char* op : {"expert_linear", "indexed", "grouped_contiguous", "grouped_masked", "combine"}) {
    for (const char* weights : {"mxfp4", "int4"}) {
      const std::string line = std::string("op=") + op + " weights=" + weights +
                               " tokens=5 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=bits seed=0x7";
      ASSERT_EQ(moe4({"gen", line, "--out", path("case")}).code, 0) << line;
      const Outcome reference = moe4({"reference", path("case"), "--out", path("result")});
      ASSERT_EQ(reference.code, 0) << reference.err;
      const Outcome check = moe4({"check", path("case"), path("result")});
      EXPECT_EQ(check.code, 0) << line << check.out << check.err;
      Result<ResultFile> result = read_result(path("result"));
      ASSERT_TRUE(result.ok());
      const bool rows = std::string(op) != "expert_linear" && std::string(op) != "combine";
      EXPECT_EQ(result->written.has_value(), rows) << op;
      EXPECT_EQ(reference.out.find("written: 10 of ") != std::string::npos, rows) << reference.out;
      if (!rows) continue;
      // Not a word of the rows that do not count.
      for (std::size_t row = 0; row < result->written->size(); ++row) {
        if ((*result->written)[row] != 0) continue;
        result->output.as<std::uint16_t>()[row * 5] = 0x7FC0;
      }
      ASSERT_FALSE(write_result(path("padding"), *result));
      EXPECT_EQ(moe4({"check", path("case"), path("padding")}).code, 0) << op;
      for (std::size_t row = 0; row < result->written->size(); ++row) {
        if ((*result->written)[row] == 0) continue;
        result->output.as<std::uint16_t>()[row * 5] ^= 0x8000;
        break;
      }
      ASSERT_FALSE(write_result(path("wrong"), *result));
      EXPECT_EQ(moe4({"check", path("case"), path("wrong")}).code, 1) << op;
    }
  }
}

TEST_F(CliOps, ReferenceOfADeclaredArithmetic) {
  const std::string shape = " tokens=5 experts=4 top_k=3 in=96 out=9 dtype=bf16 seed=0x7 fill=";
  for (const char* op : {"expert_linear", "indexed", "grouped_contiguous", "grouped_masked", "combine"}) {
    const std::string line = std::string("op=") + op + " weights=int4" + shape;
    ASSERT_EQ(moe4({"gen", line + "exact8", "--out", path("case")}).code, 0);
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"--profile", "late"},
                                               {"--profile", "hf", "--accumulation", "exact"},
                                               {"--accumulation", "hopper"},
                                               {"--order", "split(3)", "--products", "rounded"}}) {
      std::vector<std::string> command = {"reference", path("case"), "--out", path("result")};
      command.insert(command.end(), words.begin(), words.end());
      const Outcome outcome = moe4(command);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_HAS(outcome.out, "declared: ");
      // PRO-23: on exact8 data every arithmetic gives the norm's bits.
      EXPECT_EQ(moe4({"check", path("case"), path("result")}).code, 0) << op << " " << words[1];
    }
  }
  ASSERT_EQ(moe4({"gen", "op=expert_linear weights=int4" + shape + "real", "--out", path("case")}).code, 0);
  ASSERT_EQ(moe4({"reference", path("case"), "--out", path("late"), "--profile", "late"}).code, 0);
  EXPECT_EQ(moe4({"check", path("case"), path("late"), "--order", "seq"}).code, 1)
      << "three roundings on the way are not one";
  const Outcome word = moe4({"reference", path("case"), "--out", path("x"), "--profile", "lat"});
  EXPECT_EQ(word.code, 2);
  EXPECT_HAS(word.err, "did you mean late?");
  const Outcome refused = moe4({"reference", path("case"), "--out", path("x"), "--weight", "bf16"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_HAS(refused.err, "PRO-20");
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(CliOps, AnInputIsNeverOverwritten) {
  write_pair();
  const std::string before = *read_file(path("case"));
  fs::create_hard_link(path("case"), path("same"));
  for (const std::string& out : {path("case"), path("same"), folder_.string() + "/./case"}) {
    const Outcome outcome = moe4({"reference", path("case"), "--out", out});
    EXPECT_EQ(outcome.code, 2) << out;
    EXPECT_HAS(outcome.err, "is an input");
  }
  EXPECT_EQ(moe4({"check", path("case"), path("result"), "--json", path("result")}).code, 2);
  EXPECT_EQ(moe4({"layout", "pack", path("case"), "--layout", "gguf", "--out", path("case")}).code, 2);
  EXPECT_EQ(*read_file(path("case")), before);
  EXPECT_TRUE(read_result(path("result")).ok());
}

TEST_F(CliOps, ResultOfAnotherCaseIsRefused) {
  write_pair();
  const std::string other =
      "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 fill=bits seed=0x8";
  ASSERT_EQ(moe4({"gen", other, "--out", path("other")}).code, 0);
  const Outcome outcome = moe4({"check", path("other"), path("result")});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_HAS(outcome.err, "FILE-19");
  EXPECT_EQ(moe4({"check", path("case"), path("result"), "--policy", "scale_nan=inf"}).code, 2);
}

TEST_F(CliOps, VersionAndPrintableErrors) {
  const Outcome version = moe4({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_HAS(version.out, "norm version 1");
  ASSERT_FALSE(write_file(path("garbage"), std::string("tok\x1b[31mens=3\x07\n")));
  const Outcome garbage = moe4({"run", "@" + path("garbage"), "--subject", "reference"});
  EXPECT_EQ(garbage.code, 2);
  EXPECT_EQ(garbage.err.find('\x1b'), std::string::npos);
  EXPECT_HAS(garbage.err, "\\x1b[31m");
  EXPECT_HAS(moe4({"check", "--help"}).out, "3 the verdict says little");
}

}  // namespace
}  // namespace moe4::oracle
