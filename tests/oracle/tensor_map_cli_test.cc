// A kernel that takes tensor maps (tests/gpu/foreign/tma_tile.cu), launched by hand as its declaration says.
#include <nlohmann/json.hpp>

#include "tests/oracle/cli_support.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

const std::string kFolder = MOE4_SOURCE_DIR "/tests/gpu/foreign/";

class TensorMapCommand : public CliCommand {
 protected:
  Outcome run(const Json& declaration, const std::string& line) const {
    EXPECT_FALSE(write_file(path("declared.json"), declaration.dump()));
    return moe4({"ptx", "run", kFolder + "tma_tile_sm90.ptx", "--declare", path("declared.json"), line});
  }
  static Json declared() { return Json::parse(*read_file(kFolder + "tma_tile.json")); }
  static Json& map_of(Json& declaration, int argument) {
    return declaration["launch"]["arguments"][static_cast<std::size_t>(argument)]["tensor_map"];
  }
};

// Rows in every place of a tile of eight, a tail of rows, of outputs and of columns.
constexpr const char* kLine =
    "op=grouped_contiguous weights=mxfp4 tokens=13 experts=4 top_k=2 in=160 out=33 dtype=bf16 block_m=8 "
    "fill=exact8 "
    "routing=uniform seed=0x1843";

TEST_F(TensorMapCommand, RunsAsDeclared) {
  for (const std::string& line :
       {std::string(kLine),
        std::string("op=grouped_contiguous weights=mxfp4 tokens=3 experts=3 top_k=2 in=32 out=5 dtype=bf16 "
                    "fill=exact24 routing=one seed=0x7"),
        std::string("op=grouped_contiguous weights=mxfp4 tokens=5 experts=2 top_k=1 in=64 out=64 dtype=bf16 "
                    "fill=real "
                    "routing=hot seed=0x9")}) {
    const Outcome outcome = run(declared(), line);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.out << outcome.err;
    EXPECT_HAS(outcome.out, "PASSED");
  }
}

TEST_F(TensorMapCommand, ABoxOfAnotherSizeNeverArrives) {
  Json box = declared();
  map_of(box, 0)["box"] = Json::array({64, 4});
  const Outcome outcome = run(box, kLine);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_HAS(outcome.out, "barrier-deadlock");
  EXPECT_HAS(outcome.out, "512 bytes of transactions");
}

TEST_F(TensorMapCommand, AnotherSwizzleGivesOtherNumbers) {
  for (const char* swizzle : {"64", "32", "none"}) {
    Json other = declared();
    map_of(other, 0)["swizzle"] = swizzle;
    // A row of 128 bytes fits no smaller swizzle.
    const Outcome outcome = run(other, kLine);
    if (std::string(swizzle) == "none") {
      EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
      EXPECT_HAS(outcome.out, "are wrong");
    } else {
      EXPECT_NE(outcome.code, 0);
      EXPECT_HAS(outcome.out + outcome.err, "more than the swizzle's");
    }
  }
  Json weights = declared();
  map_of(weights, 1)["swizzle"] = "64";
  const Outcome outcome = run(weights, kLine);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_HAS(outcome.out, "are wrong");
}

TEST_F(TensorMapCommand, TheTensorIsAsLargeAsDeclared) {
  Json rows = declared();
  map_of(rows, 1)["dims"] = Json::array({"16*G", "E*O+32"});
  const Outcome outcome = run(rows, kLine);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_HAS(outcome.out, "the box of the tensor map covers");
  Json stride = declared();
  map_of(stride, 0)["strides"] = Json::array({"2*I+16"});
  EXPECT_EQ(run(stride, kLine).code, 1);
}

// A kernel that writes nothing, and says so for each row that is padding.
TEST_F(TensorMapCommand, WhatAKernelPrintsIsShown) {
  const Json talks =
      Json::parse(R"({"schema": 1, "name": "talks", "op": "grouped_contiguous", "weights": "mxfp4",
      "dtypes": ["bf16"], "profile": "once", "order": "seq", "launch": {"entry": "talks", "grid": 1, "block": "M",
      "arguments": [{"tensor": "m_indices"}, {"tensor": "output"}]}})");
  ASSERT_FALSE(write_file(path("talks.json"), talks.dump()));
  const Outcome outcome =
      moe4({"ptx", "run", MOE4_SOURCE_DIR "/tests/gpu/ptx/compiled/cooperative_sm_90a.ptx", "--declare",
            path("talks.json"), kLine});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_HAS(outcome.out, "printed by the kernel:\nthread ");
  EXPECT_HAS(outcome.out, "   -1|minus |0000beef|-0.500|z|1099511627776|%\n");
  EXPECT_HAS(outcome.out, "were not written");
}

}  // namespace
}  // namespace moe4::oracle
