// moe4 selftest without --mutate: a survivor and a false alarm end with exit code 5, and say so.
#include <nlohmann/json.hpp>

#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

class CliSelftest : public CliCommand {};

constexpr const char* kReal =
    "op=expert_linear weights=mxfp4 tokens=5 experts=4 top_k=2 in=256 out=9 dtype=f32 fill=real "
    "routing=uniform seed=0x7";
constexpr const char* kExact =
    "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=exact24 seed=3";

// The lists are given by the user: one that cannot tell a fault lets it survive.
TEST_F(CliSelftest, ASurvivorIsCode5) {
  const std::vector<std::string> fault = {"selftest", "--quick", "--fault", "order_groups_for_seq"};
  const auto on = [&](const std::string& line) {
    std::vector<std::string> arguments = fault;
    arguments.insert(arguments.end(), {"--cases", line, "--json", path("kills.json")});
    return moe4(arguments);
  };
  const Outcome survived = on(kReal);
  EXPECT_EQ(survived.code, 5) << survived.err;
  EXPECT_HAS(survived.out, "SURVIVED");
  const Json kills = Json::parse(*read_file(path("kills.json")));
  EXPECT_EQ(kills["passed"], false);
  EXPECT_EQ(kills["faults"][0]["caught"], false);
  EXPECT_GT(kills["faults"][0]["visible"], 0);
}

TEST_F(CliSelftest, AFalseAlarmIsCode5) {
  const auto control = [&](const std::string& text) {
    return moe4({"selftest", "--control", text, "--cases", kReal, "--json", path("alarms.json")});
  };
  const Outcome healthy = control("order=split(2)");
  EXPECT_EQ(healthy.code, 0) << healthy.out << healthy.err;
  EXPECT_HAS(healthy.out, "0 faults in 0 rows, 0 not caught; 1 healthy runs, 0 false alarms");

  const Outcome alarmed = control("order=split(2) as order=seq");
  EXPECT_EQ(alarmed.code, 5) << alarmed.out;
  EXPECT_HAS(alarmed.out, std::string("FALSE ALARM ") + kReal);
  EXPECT_HAS(alarmed.out, "(order=split(2), declared as order=seq)");
  EXPECT_HAS(alarmed.out, "1 false alarms");
  const Json alarms = Json::parse(*read_file(path("alarms.json")));
  EXPECT_EQ(alarms["passed"], false);
  ASSERT_EQ(alarms["alarms"].size(), 1U);
  EXPECT_HAS(alarms["alarms"][0]["verdict"].get<std::string>(), "FAILED: VER-17");
}

// Both at once: the faults that are named, and the controls that are given.
TEST_F(CliSelftest, FaultsAndControlsTogether) {
  const Outcome outcome = moe4({"selftest", "--quick", "--fault", "one_nibble_step", "--control", "order=seq",
                                "--control", "order=split(2) as order=seq", "--cases", kExact});
  EXPECT_EQ(outcome.code, 5) << outcome.out;
  EXPECT_HAS(outcome.out, "one_nibble_step");
  EXPECT_HAS(outcome.out, "FALSE ALARM");
}

TEST_F(CliSelftest, AControlThatIsNoneIsBadInput) {
  for (const auto& [text, says] : {std::pair{"order=sequential", "order"},
                                   {"order=seq as profile=onze", "once"},
                                   {"ordre=seq", "order"}}) {
    const Outcome outcome = moe4({"selftest", "--control", text});
    EXPECT_EQ(outcome.code, 2) << text << outcome.out;
    EXPECT_HAS(outcome.err, says);
    EXPECT_HAS(outcome.err, "--control");
  }
  // What no kernel can compute is judged on no case: nothing was shown.
  const Outcome nothing =
      moe4({"selftest", "--control", "order=seq dequant=truncate profile=once", "--cases", kExact});
  EXPECT_EQ(nothing.code, 5) << nothing.out << nothing.err;
  EXPECT_HAS(nothing.out, "0 healthy runs");
}

}  // namespace
}  // namespace moe4::oracle
