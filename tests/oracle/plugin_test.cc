// moe4 run and gate with --plugin: every operation through the C interface, and a library's misdeeds.
#include <cstdlib>

#include "oracle/subject/declaration.h"
#include "oracle/subject/plugin/guarded_buffer.h"
#include "oracle/subject/subject.h"
#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

constexpr const char* kLine =
    "op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=64 out=5 dtype=bf16 fill=exact8 seed=0x7";

class Plugin : public CliCommand {
 protected:
  void SetUp() override {
    CliCommand::SetUp();
    Declaration d = make_reference_subject()->declaration();
    d.name = "plugged";
    ASSERT_FALSE(write_file(path("declaration"), to_json(d)));
  }
  void TearDown() override {
    unsetenv("MOE4_TEST_MISDEED");
    CliCommand::TearDown();
  }

  Outcome with_plugin(std::vector<std::string> arguments,
                      const std::string& library = MOE4_REFERENCE_PLUGIN) const {
    arguments.insert(arguments.end(), {"--plugin", library, "--declare", path("declaration")});
    return moe4(arguments);
  }
};

TEST_F(Plugin, EveryOperationFormatAndLayoutOfTheSmokeGate) {
  const Outcome outcome = with_plugin({"gate"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_HAS(outcome.out, "plugged");
  // Every case of the list ran but the two layers of 896 experts at their real strides.
  EXPECT_HAS(outcome.out, "(2 unsupported)");
}

struct Misdeed {
  const char* what;
  int code;
  const char* says;
};

TEST_F(Plugin, MisdeedsBecomeStatuses) {
  unsetenv("OMP_WAIT_POLICY");
  for (const Misdeed& misdeed : {
           Misdeed{"", 0, "PASSED plugged"},
           Misdeed{"crash", 4, "killed by signal 6"},
           Misdeed{"hang", 4, "no result within 1 s"},
           Misdeed{"unsupported", 3, "UNSUPPORTED plugged"},
           Misdeed{"error", 1, "returned 2: out of luck"},
           Misdeed{"say_how_threads_wait", 1, "returned 2: passive"},
           Misdeed{"nothing_written", 1, "VER-7: 15 outputs were not written"},
           Misdeed{"far_beyond_the_output", 4, "killed by signal 11"},
           Misdeed{"just_before_the_output", 1, "it wrote beside the output"},
           Misdeed{"read_before_the_tokens", 4, "killed by signal 11"},
           Misdeed{"change_an_input", 1, "VER-7: an input was changed"},
           Misdeed{"one_wrong", 1, "1 of 15 outputs are wrong"},
           Misdeed{"first_call_wrong", 1, "VER-18: a second call gave 1 outputs other bits"},
           Misdeed{"another_version", 4,
                   "is built for version 99 of the plug-in interface; this moe4 speaks version 1"},
           Misdeed{"no_run", 4, "with run"},
           Misdeed{"no_plugin", 4, "moe4_plugin_entry returns a null pointer"},
       }) {
    setenv("MOE4_TEST_MISDEED", misdeed.what, 1);
    const Outcome outcome = with_plugin({"run", kLine, "--limit-time", "1"});
    EXPECT_EQ(outcome.code, misdeed.code) << misdeed.what << "\n" << outcome.out << outcome.err;
    EXPECT_HAS(outcome.out, misdeed.says);
  }
}

// Who does not declare it is not held to it: the second call is judged.
TEST_F(Plugin, TwoCallsMayDifferWhereThatIsDeclared) {
  Declaration d = make_reference_subject()->declaration();
  d.name = "plugged";
  d.deterministic = false;
  ASSERT_FALSE(write_file(path("declaration"), to_json(d)));
  setenv("MOE4_TEST_MISDEED", "first_call_wrong", 1);
  const Outcome outcome = with_plugin({"run", kLine});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

TEST_F(Plugin, AFileThatIsNoLibrary) {
  EXPECT_EQ(with_plugin({"run", kLine}, path("none")).code, 2);
  const Outcome outcome = with_plugin({"run", kLine}, path("declaration"));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_HAS(outcome.out, "cannot be loaded");
}

TEST(GuardedBuffer, SeesWritesIntoItsSlack) {
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 4095u, 4096u, 5000u}) {
    GuardedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_TRUE(buffer.intact());
    if (bytes % 64 == 0) continue;
    buffer.data()[bytes] ^= std::byte{1};
    EXPECT_FALSE(buffer.intact()) << bytes;
  }
}

}  // namespace
}  // namespace moe4::oracle
