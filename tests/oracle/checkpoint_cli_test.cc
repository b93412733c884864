// moe4 gen --checkpoint: from a folder of shards to a judged result.
#include "oracle/file/case_file.h"
#include "tests/oracle/checkpoint_support.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

class CheckpointCli : public CliCommand {
 protected:
  Outcome gen(const std::vector<std::string>& options,
              const std::string& line = "tokens=4 top_k=2 seed=1") const {
    std::vector<std::string> arguments = {"gen", "--checkpoint", folder_.string()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {line, "--out", path("case")});
    return moe4(arguments);
  }
  bool wrote() const { return std::filesystem::exists(path("case")); }
};

TEST_F(CheckpointCli, GenReferenceCheck) {
  const ModelOptions m;
  write_shards(folder_, model_tensors(m), 3);
  const Outcome made = gen({"--layer", "2", "--projection", "w2", "--experts", "1-4"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_HAS(made.out, "weights=mxfp4 tokens=4 experts=4 top_k=2 in=96 out=64");
  EXPECT_HAS(made.out, "weights: mxfp4, --layer 2 --projection down --experts 1-4; ");
  EXPECT_HAS(made.out, "-of-00003.safetensors");
  ASSERT_EQ(moe4({"reference", path("case"), "--out", path("result")}).code, 0);
  const Outcome judged = moe4({"check", path("case"), path("result")});
  EXPECT_EQ(judged.code, 0) << judged.out << judged.err;
  EXPECT_HAS(judged.out, "PASSED: 256 outputs");
  // The same choice and line give the same bytes.
  const std::string once = *read_file(path("case"));
  ASSERT_EQ(gen({"--layer", "2", "--projection", "down", "--experts", "1-2+3+4"}).code, 0);
  EXPECT_EQ(once, *read_file(path("case")));
  const Outcome by_default = gen({"--layer", "2", "--experts", "0-3"});
  ASSERT_EQ(by_default.code, 0);
  EXPECT_HAS(by_default.out, "--projection down --experts 0-3");
  EXPECT_NE(once, *read_file(path("case")));
}

TEST_F(CheckpointCli, BadChoicesAreCode2AndWriteNothing) {
  write_shards(folder_, model_tensors(ModelOptions{}), 3);
  const auto refused = [this](const std::vector<std::string>& options, const char* says,
                              const std::string& line = "tokens=4 top_k=2") {
    const Outcome outcome = gen(options, line);
    EXPECT_EQ(outcome.code, 2) << says;
    EXPECT_EQ(outcome.out, "");
    EXPECT_HAS(outcome.err, says);
    EXPECT_FALSE(wrote()) << says;
  };
  refused({}, "--layer");
  refused({"--layer", "-1", "--projection", "down"}, "--layer");
  refused({"--layer", "two", "--projection", "down"}, "--layer");
  refused({"--layer", "3", "--projection", "down"}, "there are 1-2+7");
  refused({"--layer", "2", "--projection", "middle"}, "CKP-7");
  refused({"--layer", "2", "--projection", "down", "--experts", "4-5"}, "there are 0-4");
  refused({"--layer", "2", "--projection", "down", "--experts", "a"}, "CASE-4");
  refused({"--layer", "2", "--projection", "down"}, "CKP-14", "experts=6");
  const Outcome without = moe4({"gen", "--layer", "2", "tokens=1", "--out", path("case")});
  EXPECT_EQ(without.code, 2);
  EXPECT_HAS(without.err, "--checkpoint");
}

}  // namespace
}  // namespace moe4::oracle
