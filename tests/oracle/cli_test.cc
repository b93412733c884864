// The built command: exit codes, what is said where, and that nothing is half-written.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "oracle/file/case_file.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLine =
    "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=bits seed=0x7";

class CliTest : public CliCommand {
 protected:
  // A case file and the norm's result for it.
  void write_pair() const {
    ASSERT_EQ(moe4({"gen", kLine, "--out", path("case")}).code, 0);
    ASSERT_EQ(moe4({"reference", path("case"), "--out", path("result")}).code, 0);
  }
};

TEST_F(CliTest, HelpOfEveryCommandHasAnExample) {
  EXPECT_EQ(moe4({"--help"}).code, 0);
  for (const char* command :
       {"gate", "merge", "run", "check", "reference", "gen", "fuzz", "shrink", "fixtures", "list"}) {
    const Outcome help = moe4({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_HAS(help.out, "Example");
    EXPECT_HAS(help.out, std::string("moe4 ") + command);
  }
}

TEST_F(CliTest, UnknownNamesGetTheNearestAndCode2) {
  const auto says = [&](const std::vector<std::string>& arguments, const std::string& nearest) {
    const Outcome outcome = moe4(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_HAS(outcome.err, nearest);
  };
  says({"gat"}, "'gate'");
  says({"gate", "--subjet", "x"}, "'--subject'");
  says({"gate", "--tier", "smok"}, "smoke");
  says({"run", kLine, "--subject", "referense"}, "reference");
  says({"list", "polices"}, "'policies'");
  says({"run", "op=expert_linear weights=mxfp4 tokenz=3", "--subject", "reference"}, "tokens");
  says({"gate", "--shard", "3/2"}, "1 <= i <= n");
  says({"gate", "--report", "xml=f"}, "junit=FILE");
  says({}, "--help");
}

TEST_F(CliTest, NumbersOutsideTheirRangeAreCode2) {
  const std::vector<std::vector<std::string>> refused = {
      {"gate", "--seed", "18446744073709551616"},
      {"gate", "--seed", "-1"},
      {"fuzz", "--seed", "0xg"},
      {"gate", "--time", "nan"},
      {"fuzz", "--time", "inf"},
      {"fuzz", "--time", "0"},
      {"shrink", kLine, "--subject", "reference", "--time", "nan"}};
  for (const auto& arguments : refused) {
    const Outcome outcome = moe4(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments[0] << " " << arguments.back();
    EXPECT_EQ(outcome.out, "");
    EXPECT_HAS(outcome.err, arguments.back());
  }
  EXPECT_EQ(moe4({"gate", "--subject", "reference", "--shard", "1/1000000"}).code, 2);
}

TEST_F(CliTest, TargetsThatCannotBeWrittenAreRefusedFirst) {
  const std::string nowhere = path("no") + "/such/file";
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"gate", "--subject", "reference", "--report", "md=" + path("ok.md"), "--report",
            "json=" + nowhere},
           {"fuzz", "--subject", "reference", "--time", "60", "--regressions", nowhere},
           {"gen", kLine, "--out", nowhere}}) {
    const Outcome outcome = moe4(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments[0];
    EXPECT_EQ(outcome.out, "") << "nothing ran";
    EXPECT_HAS(outcome.err, "FILE-13");
  }
  EXPECT_FALSE(fs::exists(path("ok.md")));
}

TEST_F(CliTest, OnlyRegularFilesAreReplaced) {
  write_pair();
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink(path("result"), path("link"));
  fs::create_directory(path("folder"));
  for (const char* taken : {"fifo", "link", "folder"}) {
    const Outcome outcome = moe4({"reference", path("case"), "--out", path(taken)});
    EXPECT_EQ(outcome.code, 2) << taken;
    EXPECT_HAS(outcome.err, "FILE-13");
  }
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_directory(path("folder")));
}

TEST_F(CliTest, ALostStdoutIsNoSuccess) {
  for (const std::string command : {" list cases", " list fills"}) {
    const int status = std::system((shell_word(MOE4_COMMAND) + command + " >/dev/full 2>/dev/null").c_str());
    ASSERT_TRUE(WIFEXITED(status)) << command;
    EXPECT_EQ(WEXITSTATUS(status), 2) << command;
  }
}

TEST_F(CliTest, PolicyOptionGoesOverTheFilesOwn) {
  // The file plants id -1 and says ids=absent; under ids=error it is no case.
  ASSERT_EQ(moe4({"gen", std::string(kLine) + " ids=absent tokens=40", "--out", path("case")}).code, 2)
      << "a key stands once";
  const std::string line =
      "op=expert_linear weights=mxfp4 tokens=40 experts=4 top_k=2 in=32 out=2 dtype=bf16 fill=exact8 "
      "ids=absent";
  ASSERT_EQ(moe4({"gen", line, "--out", path("case")}).code, 0);
  EXPECT_EQ(moe4({"reference", path("case"), "--out", path("result")}).code, 0);
  const Outcome refused = moe4({"reference", path("case"), "--out", path("other"), "--policy", "ids=error"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_HAS(refused.err, "VAL-8");
  EXPECT_FALSE(fs::exists(path("other")));
}

TEST_F(CliTest, ListsAreNotEmpty) {
  for (const char* what : {"subjects", "cases", "ops", "weights", "layouts", "fills", "routings", "policies",
                           "profiles", "orders", "accumulations", "dequants"}) {
    const Outcome outcome = moe4({"list", what});
    EXPECT_EQ(outcome.code, 0) << what;
    EXPECT_GT(outcome.out.size(), 10u) << what;
  }
  EXPECT_HAS(moe4({"list", "subjects"}).out, "reference");
}

TEST_F(CliTest, GenReferenceCheckRoundTrip) {
  write_pair();
  const Outcome outcome = moe4({"check", path("case"), path("result")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_HAS(outcome.out, "PASSED: 15 outputs");
}

TEST_F(CliTest, CheckOfAWrongOutputSaysRulePlaceAndValues) {
  write_pair();
  Result<ResultFile> result = read_result(path("result"));
  ASSERT_TRUE(result.ok());
  std::uint16_t& element = result->output.as<std::uint16_t>()[2 * 5 + 3];
  const std::uint16_t due = element;
  element ^= 0x8000;
  ASSERT_FALSE(write_result(path("wrong"), *result));
  const Outcome outcome = moe4({"check", path("case"), path("wrong"), "--json", path("json")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.out, "VER-4");
  EXPECT_HAS(outcome.out, "1 of 15 outputs are wrong");
  EXPECT_HAS(outcome.out, "[2,3]");
  std::array<char, 16> hex;
  std::snprintf(hex.data(), hex.size(), "0x%04x", due);
  EXPECT_HAS(outcome.out, std::string("expected ") + hex.data());
  const std::string replay = "moe4 check " + path("case") + " " + path("wrong") + "\n";
  EXPECT_EQ(outcome.out.rfind(replay, 0), 0u) << outcome.out;
  EXPECT_EQ(outcome.out.substr(outcome.out.size() - replay.size()), replay);
  const nlohmann::json json = nlohmann::json::parse(*read_file(path("json")));
  EXPECT_EQ(json["mismatched"], 1);
  EXPECT_EQ(json["worst"][0]["expected_lo"], hex.data());
}

TEST_F(CliTest, BadFilesAreCode2AndLeaveNothing) {
  write_pair();
  const std::string whole = *read_file(path("case"));
  ASSERT_FALSE(write_file(path("truncated"), whole.substr(0, whole.size() - 1)));
  ASSERT_FALSE(write_file(path("empty"), ""));
  for (const std::string& file :
       {path("truncated"), path("empty"), path("missing"), path("result"), folder_.string()}) {
    const Outcome outcome = moe4({"reference", file, "--out", path("out")});
    EXPECT_EQ(outcome.code, 2) << file;
    EXPECT_HAS(outcome.err, file);
    EXPECT_FALSE(fs::exists(path("out"))) << file;
    EXPECT_EQ(moe4({"check", path("case"), file}).code, file == path("result") ? 0 : 2) << file;
  }
  EXPECT_EQ(moe4({"reference", path("case"), "--out", path("no/such/folder/out")}).code, 2);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename().string().find("partial"), std::string::npos) << entry.path();
    EXPECT_EQ(entry.path().filename().string().find("tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(CliTest, PolicyChangesTheNorm) {
  ASSERT_EQ(moe4({"fixtures", "write", path("golden")}).code, 0);
  const std::string ocp = path("golden/scale_255_ocp.case.safetensors");
  const std::string formula = path("golden/scale_255_formula.result.safetensors");
  EXPECT_EQ(moe4({"check", ocp, formula}).code, 1);
  EXPECT_EQ(moe4({"check", ocp, formula, "--policy", "scale_nan=formula"}).code, 0);
  EXPECT_EQ(moe4({"check", ocp, formula, "--policy", "scale_nan=formul"}).code, 2);
}

TEST_F(CliTest, RunPassesAndSaysHowExact) {
  const Outcome outcome =
      moe4({"run",
            "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 "
            "fill=exact8 routing=duplicate seed=0x2a",
            "--subject", "reference"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_HAS(outcome.out, "PASSED reference");
  EXPECT_HAS(outcome.out, "of at most 256");
}

TEST_F(CliTest, RunOfAListAndOfNothing) {
  ASSERT_FALSE(write_file(path("list"), std::string("# two\n") + kLine + "\n\n" + kLine + "\n"));
  EXPECT_EQ(moe4({"run", "@" + path("list"), "--subject", "reference"}).code, 0);
  ASSERT_FALSE(write_file(path("list"), "# none\n"));
  const Outcome outcome = moe4({"run", "@" + path("list"), "--subject", "reference"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_HAS(outcome.out, "NOTHING RAN");
  EXPECT_EQ(moe4({"run", "@" + path("missing"), "--subject", "reference"}).code, 2);
}

TEST_F(CliTest, GateOfTheReferenceOverAShardWritesReports) {
  const Outcome outcome =
      moe4({"gate", "--subject", "reference", "--shard", "1/8", "--report", "junit=" + path("junit"),
            "--report", "json=" + path("json"), "--report", "md=" + path("md")});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "") << "no progress off a terminal";
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos) << "no colour";
  EXPECT_HAS(outcome.out, "shard 1/8");
  EXPECT_EQ(nlohmann::json::parse(*read_file(path("json")))["exit_code"], 0);
  EXPECT_HAS(*read_file(path("junit")), "<testsuite name=\"reference\"");
  EXPECT_HAS(*read_file(path("md")), "# moe4 gate, tier smoke");
}

TEST_F(CliTest, GateWithoutTimeIsUnmet) {
  const Outcome outcome = moe4({"gate", "--subject", "reference", "--time", "0.000001"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_HAS(outcome.out, "NOTHING RAN");
}

TEST_F(CliTest, FuzzAndShrinkOfAHealthySubject) {
  const Outcome fuzz =
      moe4({"fuzz", "--subject", "reference", "--cases", "5", "--seed", "3", "--regressions", path("r")});
  EXPECT_EQ(fuzz.code, 0) << fuzz.out;
  EXPECT_HAS(fuzz.out, "5 cases drawn with seed 3");
  EXPECT_FALSE(fs::exists(path("r")));
  const Outcome shrink = moe4({"shrink", kLine, "--subject", "reference"});
  EXPECT_EQ(shrink.code, 0);
  EXPECT_HAS(shrink.out, "nothing to shrink");
}

TEST_F(CliTest, FixturesVerifySeesDamage) {
  ASSERT_EQ(moe4({"fixtures", "write", path("golden")}).code, 0);
  EXPECT_EQ(moe4({"fixtures", "verify", path("golden")}).code, 0);
  fs::remove(path("golden/ties.result.safetensors"));
  const Outcome outcome = moe4({"fixtures", "verify", path("golden")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_HAS(outcome.out, "ties.result.safetensors: missing");
  EXPECT_EQ(moe4({"fixtures", "verify", path("nowhere")}).code, 2);
}

TEST_F(CliTest, PtxInfo) {
  ASSERT_FALSE(write_file(path("bad.ptx"), "this is no PTX"));
  const Outcome bad = moe4({"ptx", "info", path("bad.ptx")});
  EXPECT_EQ(bad.code, 2);
  EXPECT_HAS(bad.err, "bad.ptx:");
  ASSERT_FALSE(write_file(path("good.ptx"),
                          ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry nothing(.param .u64 nothing_param_0)\n{\n  ret;\n}\n"));
  const Outcome good = moe4({"ptx", "info", path("good.ptx")});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_HAS(good.out, "entry nothing");
  EXPECT_HAS(good.out, "nothing_param_0");
}

}  // namespace
}  // namespace moe4::oracle
