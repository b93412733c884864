// The grammar of docs/spec/case_line.md, rule by rule.
#include <algorithm>

#include "oracle/case/words.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {
namespace {

TEST(CaseLine, CanonicalFormHasTheCoreKeysInOrder) {
  EXPECT_EQ(to_string(Case{}),
            "op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=1 in=32 out=1 dtype=bf16 fill=exact8 "
            "routing=uniform seed=0x1");
}

TEST(CaseLine, EveryKeyIsReadAndPrinted) {
  const std::string line =
      "op=expert_linear weights=mxfp4 tokens=9 experts=5 top_k=2 in=64 out=8 dtype=f16 mixture=bf16 "
      "shared=f64 "
      "ids_dtype=i64 fill=bits routing=duplicate scales=window(3,250) route=1+3-4 scale_nan=formula "
      "scale_zero=flush "
      "zero=strict ids=absent skip_zero_p=yes seed=0xffffffffffffffff hardware=ada schedule=0x7 "
      "keep_tokens=0-3+7 "
      "keep_outputs=2 "
      "keep_groups=1 keep_codes=0+33-40";
  EXPECT_EQ(to_string(case_of(line)), line);
  // The order that the printer uses is the one that is documented and offered in errors.
  Case c = case_of(line);
  // No operation takes them all, but the printer knows them.
  c.layout = "row_major";
  c.block_m = c.max_m = c.expected_m = c.capacity = 1;
  c.ep = ExpertRank{0, 1};
  const std::string printed = to_string(c);
  std::size_t at = 0;
  for (const std::string& key : case_keys()) {
    const std::size_t found = (" " + printed).find(" " + key + "=", at);
    ASSERT_NE(found, std::string::npos) << key;
    at = found;
  }
}

TEST(CaseLine, OrderOfKeysIsFree) {
  EXPECT_EQ(case_of("seed=42 in=96\ttokens=3"), case_of("tokens=3  in=96 seed=0x2a"));
}

TEST(CaseLine, ListsAreSortedAndJoined) {
  EXPECT_EQ(case_of("tokens=9 keep_tokens=7+1-2+0+1").keep_tokens, (std::vector<std::int64_t>{0, 1, 2, 7}));
}

TEST(CaseLine, ErrorsNameKeyValueRuleAndTheNearestWord) {
  const Result<Case> key = parse_case("token=3");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().field, "token");
  EXPECT_EQ(key.error().value, "3");
  EXPECT_NE(key.error().rule.find("CASE-2"), std::string::npos);
  EXPECT_NE(key.error().rule.find("did you mean tokens?"), std::string::npos);
  const Result<Case> value = parse_case("fill=exact9");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().field, "fill");
  EXPECT_NE(value.error().rule.find("did you mean exact8?"), std::string::npos);
  const Result<Case> policy = parse_case("scale_nan=nan");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().field, "scale_nan");
}

struct Refusal {
  const char* line;
  const char* rule;
};

class CaseLineRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(CaseLineRefusal, NamesTheRule) {
  EXPECT_EQ(rule_of(GetParam().line), GetParam().rule) << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    All, CaseLineRefusal,
    testing::Values(
        Refusal{"", "CASE-1"}, Refusal{"   ", "CASE-1"}, Refusal{"tokens", "CASE-1"},
        Refusal{"tokens=", "CASE-1"}, Refusal{"=3", "CASE-1"}, Refusal{"tokens=3 tokens=3", "CASE-1"},
        Refusal{"op=grouped", "CASE-2"}, Refusal{"weights=int8", "CASE-2"}, Refusal{"dtype=BF16", "CASE-2"},
        Refusal{"dtype=u8", "CASE-2"}, Refusal{"hardware=h100", "CASE-2"}, Refusal{"ids_dtype=f32", "CASE-2"},
        Refusal{"routing=sorted", "CASE-2"}, Refusal{"tokens=-1", "CASE-3"}, Refusal{"tokens=+1", "CASE-3"},
        Refusal{"tokens=1.0", "CASE-3"}, Refusal{"tokens=0x3", "CASE-3"},
        Refusal{"tokens=99999999999999999999", "CASE-3"}, Refusal{"seed=0x10000000000000000", "CASE-3"},
        Refusal{"seed=0x", "CASE-3"}, Refusal{"seed=-1", "CASE-3"}, Refusal{"schedule=a", "CASE-3"},
        Refusal{"tokens=9 keep_tokens=3-1", "CASE-4"}, Refusal{"tokens=9 keep_tokens=1+", "CASE-4"},
        Refusal{"tokens=9 keep_tokens=1--2", "CASE-4"}, Refusal{"keep_codes=0-4611686018427387904", "CASE-4"},
        Refusal{"tokens=2000000 keep_tokens=0-1999999", "CASE-4"}, Refusal{"in=0", "CASE-6"},
        Refusal{"in=33", "CASE-6"}, Refusal{"in=16", "CASE-6"}, Refusal{"tokens=1099511627777", "CASE-6"},
        Refusal{"in=1099511627776 out=1099511627776", "CASE-6"}, Refusal{"experts=0", "CASE-7"},
        Refusal{"experts=3 top_k=4", "CASE-8"}, Refusal{"routing=duplicate", "CASE-8"},
        Refusal{"routing=boundary tokens=6", "CASE-8"}, Refusal{"routing=empty experts=3", "CASE-8"},
        Refusal{"routing=empty experts=5 top_k=3", "CASE-8"}, Refusal{"routing=poison", "CASE-8"},
        Refusal{"routing=poison experts=4 top_k=3", "CASE-8"},
        Refusal{"routing=poison experts=2 route=0-1", "CASE-8"},
        Refusal{"experts=9 top_k=3 route=1-2", "CASE-8"}, Refusal{"fill=bits scales=window(9,8)", "CASE-9"},
        Refusal{"fill=bits scales=window(0,256)", "CASE-9"}, Refusal{"fill=bits scales=(0,2)", "CASE-9"},
        Refusal{"fill=bits scales=window(0,2", "CASE-9"}, Refusal{"fill=bits scales=window(02)", "CASE-9"},
        Refusal{"fill=bits scales=window(255,255)", "CASE-9"},
        Refusal{"fill=real scales=window(0,8)", "CASE-9"}, Refusal{"experts=4 route=4", "CASE-10"},
        Refusal{"keep_tokens=1", "CASE-11"}, Refusal{"keep_outputs=1", "CASE-11"},
        Refusal{"keep_groups=1", "CASE-11"}, Refusal{"keep_codes=32", "CASE-11"},
        Refusal{"ids=maybe", "COR"}));

INSTANTIATE_TEST_SUITE_P(
    Operations, CaseLineRefusal,
    testing::Values(
        Refusal{"layout=tiled", "CASE-2"}, Refusal{"op=indexed mixture=f32", "CASE-13"},
        Refusal{"op=grouped_masked shared=f32", "CASE-13"}, Refusal{"op=indexed ids_dtype=i64", "CASE-13"},
        Refusal{"op=indexed ids=absent", "CASE-13"}, Refusal{"op=combine ids=absent", "CASE-13"},
        Refusal{"op=indexed skip_zero_p=yes", "CASE-13"}, Refusal{"op=combine layout=row_major", "CASE-13"},
        Refusal{"block_m=16", "CASE-13"}, Refusal{"op=grouped_masked block_m=16", "CASE-13"},
        Refusal{"op=indexed max_m=128", "CASE-13"}, Refusal{"op=indexed expected_m=1", "CASE-13"},
        Refusal{"op=combine capacity=9", "CASE-13"}, Refusal{"op=indexed dtype=f16", "CASE-14"},
        Refusal{"op=grouped_contiguous dtype=f32", "CASE-14"}, Refusal{"op=indexed top_k=0", "CASE-14"},
        Refusal{"op=grouped_masked tokens=1073741824 top_k=2 experts=2", "CASE-14"},
        Refusal{"weights=int4 layout=gguf", "CASE-15"}, Refusal{"layout=indexed_mma", "CASE-15"},
        Refusal{"op=grouped_masked weights=int4 layout=grouped_contiguous in=128 out=64", "CASE-15"},
        Refusal{"op=indexed weights=int4 layout=indexed_mma in=64 out=32", "CASE-15"},
        Refusal{"layout=gpt_oss out=3", "CASE-15"}, Refusal{"op=indexed block_m=0", "CASE-16"},
        Refusal{"op=indexed block_m=1048577", "CASE-16"},
        Refusal{"op=grouped_masked expected_m=0", "CASE-16"},
        Refusal{"op=grouped_masked max_m=2147483648", "CASE-16"},
        Refusal{"op=indexed capacity=2147483648", "CASE-16"},
        Refusal{"op=indexed experts=4 ep=rank(4,4)", "CASE-17"},
        Refusal{"op=indexed experts=4 ep=rank(0,3)", "CASE-17"},
        Refusal{"op=indexed experts=4 ep=rank(0,0)", "CASE-17"}, Refusal{"op=indexed ep=1/4", "CASE-17"},
        Refusal{"experts=4 ep=rank(0,2)", "CASE-17"}, Refusal{"routing=sentinel", "CASE-18"},
        Refusal{"op=grouped_masked routing=sentinel", "CASE-18"}, Refusal{"routing=minus_one", "CASE-18"},
        Refusal{"routing=unsorted", "CASE-18"}, Refusal{"op=grouped_masked routing=unsorted", "CASE-18"},
        Refusal{"weights=int4 fill=bits scales=window(251,254)", "CASE-9"},
        Refusal{"weights=int4 fill=exact8 scales=window(0,0)", "CASE-9"}));

TEST(CaseLine, AcceptedCombinationsOfOperations) {
  for (const char* line :
       {"op=indexed routing=sentinel experts=4 block_m=8 capacity=900",
        "op=grouped_contiguous routing=minus_one", "op=indexed routing=unsorted",
        "op=combine mixture=f64 shared=f16 ids_dtype=i64 dtype=f32 skip_zero_p=yes routing=minus_one",
        "op=grouped_masked weights=int4 layout=grouped_masked in=128 out=64 max_m=64 expected_m=3",
        "op=indexed weights=int4 layout=indexed_wgmma in=64 out=64", "layout=gguf", "layout=row_major",
        "weights=int4 layout=compressed_tensors", "routing=minus_one ids=absent",
        "routing=minus_one "
        "ids=absent experts=4 ep=rank(1,2)",
        "weights=int4 fill=bits scales=window(0,0)"}) {
    EXPECT_EQ(rule_of(line), "") << line;
  }
}

TEST(CaseLine, RefusedCombinationsNameTheNearestWord) {
  const Result<Case> layout = parse_case("weights=int4 op=indexed layout=grouped_masked in=128 out=64");
  ASSERT_FALSE(layout);
  EXPECT_NE(layout.error().rule.find("did you mean"), std::string::npos) << layout.error().message();
  EXPECT_NE(layout.error().rule.find("indexed_wgmma"), std::string::npos);
  const Result<Case> key = parse_case("op=grouped_masked capacity=9");
  ASSERT_FALSE(key);
  EXPECT_NE(key.error().rule.find("did you mean op=grouped_contiguous?"), std::string::npos)
      << key.error().message();
}

TEST(CaseLine, EmptyWorkIsACase) {
  EXPECT_EQ(rule_of("tokens=0"), "");
  EXPECT_EQ(rule_of("top_k=0 experts=0"), "");
  EXPECT_EQ(rule_of("out=0"), "");
  EXPECT_EQ(rule_of("tokens=0 top_k=9 routing=boundary"), "");
}

TEST(CaseList, CommentsAndBlankLinesAreSkipped) {
  const auto cases = parse_case_list("# head\n\n tokens=2 # two\r\n\ttokens=3\n");
  ASSERT_TRUE(cases) << cases.error().message();
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[1].tokens, 3);
}

TEST(CaseList, ErrorNamesTheLine) {
  const auto cases = parse_case_list("tokens=2\n# fine\ntokens=x\n");
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.error().field, "line 3: tokens");
}

TEST(CaseList, ListsOfTheTreeAreCanonical) {
  for (const char* tier : {"smoke", "ci", "nightly"}) {
    const std::string path = std::string(MOE4_SOURCE_DIR) + "/fixtures/lists/" + tier + ".cases";
    std::FILE* file = std::fopen(path.c_str(), "rb");
    ASSERT_NE(file, nullptr) << path;
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
    std::fclose(file);
    const auto cases = parse_case_list(text);
    ASSERT_TRUE(cases) << path << ": " << cases.error().message();
    for (Fill fill : all_fills()) {
      for (Routing routing : all_routings()) {
        if (routing == Routing::kSentinel || routing == Routing::kMinusOne || routing == Routing::kUnsorted)
          continue;
        const bool reached = std::any_of(cases->begin(), cases->end(), [&](const Case& c) {
          return c.op == Op::kExpertLinear && c.weights == WeightFormat::kMxfp4 && c.fill == fill &&
                 c.routing == routing;
        });
        EXPECT_TRUE(reached) << tier << ": fill=" << name_of(fill) << " routing=" << name_of(routing);
      }
    }
  }
}

}  // namespace
}  // namespace moe4::oracle
