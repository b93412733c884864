// Every command against files that are missing, empty, truncated, hostile, or of another kind; against a full
// disk; and against case lines and names that cannot be.
#include <sys/stat.h>

#include <algorithm>

#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLine =
    "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=bits seed=0x7";

class BadInput : public CliCommand {
 protected:
  void SetUp() override {
    CliCommand::SetUp();
    ASSERT_EQ(moe4({"gen", kLine, "--out", path("case")}).code, 0);
    ASSERT_EQ(moe4({"reference", path("case"), "--out", path("result")}).code, 0);
    ASSERT_FALSE(write_file(path("list"), std::string(kLine) + "\n"));
    ASSERT_FALSE(write_file(
        path("declaration"),
        R"({"schema": 1, "name": "x", "op": "expert_linear", "weights": "mxfp4", "dtypes": ["bf16"],
                "profile": "once", "launch": {"entry": "nothing", "grid": 1, "block": 1, "arguments": [{"tensor": "output"}]}})"));
    ASSERT_FALSE(write_file(path("ptx"),
                            ".version 8.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry nothing(.param .u64 p)\n{\n  ret;\n}\n"));
  }

  // Exit code 2, nothing on stdout, one line on stderr without bytes that a terminal would obey.
  void expect_refused(const Outcome& outcome, const std::string& what) const {
    EXPECT_EQ(outcome.code, 2) << what << "\n" << outcome.out << outcome.err;
    EXPECT_EQ(outcome.out, "") << what;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what << "\n" << outcome.err;
    const auto obeyed = [](char c) { return (c >= 0 && c < 0x20 && c != '\n') || c == 0x7F; };
    EXPECT_TRUE(std::none_of(outcome.err.begin(), outcome.err.end(), obeyed)) << what << "\n" << outcome.err;
  }
};

// FILE stands for the bad file; the others are good ones.
std::vector<std::vector<std::string>> readers(const BadInput&,
                                              const std::function<std::string(const char*)>& at) {
  const std::string declaration = at("declaration");
  return {
      {"reference", "FILE", "--out", at("out")},
      {"check", "FILE", at("result")},
      {"check", at("case"), "FILE"},
      {"run", "@FILE", "--subject", "reference"},
      {"run", kLine, "--ptx", "FILE", "--declare", declaration},
      {"run", kLine, "--ptx", at("ptx"), "--declare", "FILE"},
      {"run", kLine, "--command", "x {cases} {results}", "--declare", "FILE"},
      {"gate", "--command", "x {cases} {results}", "--declare", "FILE"},
      {"gate", "--subject", "reference", "--known", "FILE"},
      {"gate", "--subject", "reference", "--baseline", "FILE"},
      {"merge", "FILE"},
      {"shrink", kLine, "--command", "x {cases} {results}", "--declare", "FILE"},
      {"fuzz", "--ptx", "FILE", "--declare", declaration},
      {"layout", "pack", "FILE", "--layout", "gguf", "--out", at("out")},
      {"layout", "unpack", "FILE", "--layout", "gguf", "--out", at("out")},
      {"ptx", "info", "FILE"},
      {"ptx", "run", "FILE", "--declare", declaration, kLine},
      {"selftest", "--mutate", "FILE", "--declare", declaration},
      {"gen", "--checkpoint", "FILE", "--layer", "0", "tokens=1", "--out", at("out")},
      {"fixtures", "verify", "FILE"},
      {"fixtures", "hardware", "compare", "FILE"},
  };
}

TEST_F(BadInput, EveryReaderRefusesEveryBadFile) {
  const std::string whole = *read_file(path("case"));
  ASSERT_FALSE(write_file(path("bad_empty"), ""));
  ASSERT_FALSE(write_file(path("bad_truncated"), whole.substr(0, whole.size() / 2)));
  ASSERT_FALSE(write_file(path("bad_terminal"), "\033[31mred\033[0m \a\b\x7f = \xff\xfe {\"\033\": 1}\n"));
  ASSERT_FALSE(write_file(path("bad_length"), std::string(8, '\xff') + "{}"));
  ASSERT_FALSE(write_file(path("bad_depth"), std::string(5000, '[')));
  fs::create_directory(path("bad_folder"));
  ASSERT_EQ(mkfifo(path("bad_pipe").c_str(), 0600), 0);
  for (const char* bad : {"bad_missing", "bad_empty", "bad_truncated", "bad_terminal", "bad_length",
                          "bad_depth", "bad_folder", "bad_pipe", "/dev/zero"}) {
    const std::string file = bad[0] == '/' ? bad : path(bad);
    for (std::vector<std::string> arguments : readers(*this, [&](const char* name) { return path(name); })) {
      for (std::string& argument : arguments) {
        if (const std::size_t place = argument.find("FILE"); place != std::string::npos)
          argument.replace(place, 4, file);
      }
      std::string what;
      for (const std::string& argument : arguments) what += argument + " ";
      const Outcome outcome = moe4(arguments);
      // An empty list is a list: nothing ran.
      if (std::string(bad) == "bad_empty" && arguments[1] == "@" + file) {
        EXPECT_EQ(outcome.code, 3) << what;
        continue;
      }
      expect_refused(outcome, what);
      EXPECT_NE(outcome.err.find(file), std::string::npos) << what << "\n" << outcome.err;
      EXPECT_FALSE(fs::exists(path("out"))) << what;
    }
  }
}

TEST_F(BadInput, AFullDiskLosesNothingThatWasThere) {
  ASSERT_EQ(
      moe4({"gate", "--subject", "reference", "--shard", "1/200", "--report", "json=" + path("report")}).code,
      0);
  const std::vector<std::vector<std::string>> writers = {
      {"gen", kLine, "--out", path("old")},
      {"reference", path("case"), "--out", path("old")},
      {"check", path("case"), path("result"), "--json", path("old")},
      {"gate", "--subject", "reference", "--shard", "1/200", "--report", "html=" + path("old")},
      {"merge", path("report"), "--report", "junit=" + path("old")},
      {"layout", "pack", path("case"), "--layout", "gguf", "--out", path("old")},
  };
  for (const std::vector<std::string>& arguments : writers) {
    ASSERT_FALSE(write_file(path("old"), "what was there"));
    const auto before = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    std::string command = "ulimit -f 0; exec " + shell_word(MOE4_COMMAND);
    for (const std::string& argument : arguments) command += " " + shell_word(argument);
    // Through a pipe, since stdout may not grow either.
    command = "(" + command + ") 2>&1 | cat >" + shell_word(path("said")) + "; exit ${PIPESTATUS[0]}";
    const int status = std::system(("bash -c " + shell_word(command)).c_str());
    ASSERT_TRUE(WIFEXITED(status)) << arguments[0];
    EXPECT_EQ(WEXITSTATUS(status), 2) << arguments[0];
    EXPECT_HAS(*read_file(path("said")), "FILE-13");
    EXPECT_EQ(*read_file(path("old")), "what was there") << arguments[0];
    fs::remove(path("said"));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), before)
        << arguments[0];
  }
}

TEST_F(BadInput, DevicesAreNoTargets) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"gen", kLine, "--out", "/dev/full"},
           {"reference", path("case"), "--out", "/dev/full"},
           {"gate", "--subject", "reference", "--report", "html=/dev/full"},
           {"gate", "--subject", "reference", "--regressions", "/dev/full"},
           {"fuzz", "--subject", "reference", "--regressions", "/dev/full"}}) {
    expect_refused(moe4(arguments), arguments[0]);
  }
}

struct Typed {
  std::vector<std::string> arguments;
  const char* says;
};

TEST_F(BadInput, LinesAndNamesThatCannotBe) {
  const std::vector<Typed> table = {
      {{"gen", "tokens=3 in=33", "--out", path("out")}, "CASE-6"},
      {{"gen", "tokens=99999999999999999999", "--out", path("out")}, "CASE-3"},
      {{"gen", "experts=0 top_k=2", "--out", path("out")}, "CASE-7"},
      {{"gen", "op=indexd", "--out", path("out")}, "indexed"},
      {{"gen", "fill=exact9", "--out", path("out")}, "exact8"},
      {{"gen", "tokens=1 tokens=2", "--out", path("out")}, "CASE-1"},
      {{"gen", "", "--out", path("out")}, "CASE-1"},
      {{"gen", "tokens=\033[31m", "--out", path("out")}, "\\x1b"},
      {{"run", kLine, "--subject", "referenc"}, "reference"},
      {{"gate", "--tier", "nightli"}, "nightly"},
      {{"gate", "--subject", "reference", "--shard", "0/2"}, "i/n"},
      {{"gate", "--subject", "reference", "--shard", "1/2/3"}, "i/n"},
      {{"gate", "--subject", "reference", "--report", "pdf=x"}, "html=FILE"},
      {{"gate", "--subject", "reference", "--report", "html="}, "html=FILE"},
      {{"merg", path("case")}, "merge"},
      {{"merge"}, "REPORT"},
      {{"merge", path("list"), "--report", "md=" + path("list")}, "is an input"},
      {{"list", "subject"}, "subjects"},
      {{"layout", "pack", path("case"), "--layout", "ggu", "--out", path("out")}, "gguf"},
      {{"selftest", "--fault", "one_nibble"}, "one_nibble_step"},
      {{"check", path("case"), path("result"), "--profile", "lat"}, "late"},
      {{"reference", path("case"), "--out", path("case")}, "is an input"},
      {{"run", kLine, "--plugin", path("none"), "--declare", path("declaration")}, "shared library"},
      {{"run", kLine, "--subject", std::string(100000, 'x')}, "unknown"},
      {{"gen", "tokens=" + std::string(100000, '3'), "--out", path("out")}, "CASE-3"},
      {{"plugin-host", path("none"), path("none"), path("none")}, "cannot be loaded"},
  };
  for (const Typed& typed : table) {
    const Outcome outcome = moe4(typed.arguments);
    EXPECT_LT(outcome.err.size(), 4000U);
    expect_refused(outcome, typed.says);
    EXPECT_HAS(outcome.err, typed.says);
    EXPECT_FALSE(fs::exists(path("out")));
  }
}

}  // namespace
}  // namespace moe4::oracle
