// Every rule of docs/spec/case_file.md about headers, each with a file that breaks it and no other.
#include "tests/oracle/file_support.h"

namespace moe4::oracle {
namespace {

std::string error_of(const std::string& header, std::size_t data_bytes = 0) {
  const Result<Header> parsed = parse_header(header, data_bytes);
  return parsed ? "" : parsed.error().message();
}

TEST(Header, AcceptsWhatTheFormatAllows) {
  EXPECT_EQ(error_of("{}"), "");
  EXPECT_EQ(error_of("{}      "), "");
  EXPECT_EQ(error_of(R"({"__metadata__":{"a":"b"}})"), "");
  EXPECT_EQ(error_of(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4), "");  // rank 0
  EXPECT_EQ(error_of(R"({"a":{"data_offsets":[0,0],"shape":[0,9],"dtype":"I64"}})"), "");
  EXPECT_EQ(
      error_of(
          R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"F8_E8M0","shape":[1],"data_offsets":[0,1]}})",
          3),
      "");
}

struct Bad {
  const char* rule;
  const char* field;
  const char* header;
  std::size_t data_bytes;
};

class BadHeader : public testing::TestWithParam<Bad> {};

TEST_P(BadHeader, IsRefusedByItsRule) {
  const Bad& bad = GetParam();
  const Result<Header> parsed = parse_header(bad.header, bad.data_bytes);
  ASSERT_FALSE(parsed) << bad.header;
  EXPECT_EQ(parsed.error().rule.substr(0, parsed.error().rule.find(':')), bad.rule)
      << parsed.error().message();
  EXPECT_EQ(parsed.error().field, bad.field) << parsed.error().message();
}

#define T(dtype, shape, offsets) \
  R"({"t":{"dtype":")" dtype R"(","shape":[)" shape R"(],"data_offsets":[)" offsets "]}}"

INSTANTIATE_TEST_SUITE_P(
    All, BadHeader,
    testing::Values(
        Bad{"FILE-3", "header", "", 0}, Bad{"FILE-3", "header", " {}", 0}, Bad{"FILE-3", "header", "[]", 0},
        Bad{"FILE-3", "header", "{", 0}, Bad{"FILE-3", "header", "{}x", 0},
        Bad{"FILE-3", "header", "{}\n{}", 0}, Bad{"FILE-3", "header", "{\"\xff\":{}}", 0},
        Bad{"FILE-4", "t",
            R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
            0},
        Bad{"FILE-4", "t", R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0},
        Bad{"FILE-4", "__metadata__", R"({"__metadata__":{},"__metadata__":{}})", 0},
        Bad{"FILE-4", "__metadata__", R"({"__metadata__":{"a":"1","a":"2"}})", 0},
        Bad{"FILE-5", "t", R"({"t":3})", 0}, Bad{"FILE-5", "t", R"({"t":null})", 0},
        Bad{"FILE-5", "t", R"({"t":[]})", 0}, Bad{"FILE-5", "t", R"({"t":"x"})", 0},
        Bad{"FILE-5", "t", R"({"t":{"extra":1}})", 0}, Bad{"FILE-5", "t", R"({"t":{"shape":"x"}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"dtype":[1]}})", 0}, Bad{"FILE-5", "t", R"({"t":{"dtype":{}}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"shape":[[1]]}})", 0}, Bad{"FILE-5", "t", R"({"t":{"shape":[{}]}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"shape":["1"]}})", 0}, Bad{"FILE-5", "t", R"({"t":{"shape":[true]}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"shape":[-1]}})", 0}, Bad{"FILE-5", "t", R"({"t":{"shape":[1.5]}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"shape":[1e3]}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"shape":[18446744073709551616]}})", 0},
        Bad{"FILE-5", "__metadata__", R"({"__metadata__":{"a":1}})", 0},
        Bad{"FILE-5", "__metadata__", R"({"__metadata__":{"a":{}}})", 0},
        Bad{"FILE-5", "__metadata__", R"({"__metadata__":{"shape":[1]}})", 0},
        Bad{"FILE-5", "__metadata__", R"({"__metadata__":"a"})", 0}, Bad{"FILE-5", "t", R"({"t":{}})", 0},
        Bad{"FILE-5", "t", R"({"t":{"dtype":"U8","shape":[0]}})", 0},
        Bad{"FILE-6", "t", T("U8", "1,1,1,1,1,1,1,1,1", "0,1"), 1},
        Bad{"FILE-6", "t", T("U8", "4294967296,4294967296", "0,0"), 0},
        Bad{"FILE-6", "t", T("F64", "4611686018427387905", "0,8"), 8},
        Bad{"FILE-6", "t", T("F64", "18446744073709551615", "0,8"), 8},
        Bad{"FILE-7", "t", T("F4", "0", "0,0"), 0}, Bad{"FILE-7", "t", T("bf16", "0", "0,0"), 0},
        Bad{"FILE-7", "t", T("BOOL", "1", "0,1"), 1}, Bad{"FILE-8", "t", T("U8", "1", "0"), 1},
        Bad{"FILE-8", "t", T("U8", "1", "0,1,2"), 2}, Bad{"FILE-8", "t", T("U8", "1", "1,0"), 1},
        Bad{"FILE-8", "t", T("U8", "2", "0,2"), 1},
        Bad{"FILE-8", "t", T("F64", "4611686018427387904", "0,0"),
            0},  // 2^62 elements of 8 bytes: 2^65 wraps to 0
        Bad{"FILE-8", "t", T("BF16", "2", "0,3"), 3},
        Bad{"FILE-8", "t", T("U8", "1", "18446744073709551615,0"), 1},
        Bad{"FILE-8", "t", T("U8", "1", "0,18446744073709551615"), 1},
        Bad{"FILE-9", "t", T("U8", "1", "1,2"), 2}, Bad{"FILE-9", "header", T("U8", "1", "0,1"), 2},
        Bad{"FILE-9", "header", "{}", 1},
        Bad{"FILE-9", "t",
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"t":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
            3},
        Bad{"FILE-9", "t",
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"t":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
            5},
        Bad{"FILE-9", "t",
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
            2}));

TEST(Header, DeepNestingIsRefusedAtOnce) {
  std::string deep = R"({"t":{"shape":)";
  for (int n = 0; n < 1000000; ++n) deep += "[";
  EXPECT_NE(error_of(deep).find("FILE-5"), std::string::npos);
}

TEST(Header, ManyKeysAreRefused) {
  std::string many = R"({"__metadata__":{)";
  for (int n = 0; n < 5000; ++n) many += (n ? ",\"" : "\"") + std::to_string(n) + "\":\"\"";
  EXPECT_NE(error_of(many + "}}").find("FILE-10"), std::string::npos);
}

TEST(Bytes, LengthIsChecked) {
  EXPECT_NE(case_error("").find("FILE-1"), std::string::npos);
  EXPECT_NE(case_error("1234567").find("FILE-1"), std::string::npos);
  EXPECT_NE(case_error(std::string(8, '\xff')).find("FILE-2"), std::string::npos);
  EXPECT_NE(case_error(std::string("\x03\0\0\0\0\0\0\0{}", 10)).find("FILE-2"), std::string::npos);
  EXPECT_NE(case_error(std::string(8, '\0')).find("FILE-3"), std::string::npos);
}

}  // namespace
}  // namespace moe4::oracle
