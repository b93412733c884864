// Case and result files: what is written is read back; what is missing, extra or contradictory is refused.
#include <signal.h>
#include <sys/resource.h>

#include <cstring>

#include "tests/oracle/file_support.h"

namespace moe4::oracle {
namespace {

class CaseFile : public FileTest {
 protected:
  std::string valid_bytes() {
    const Status status = write_case(path("valid"), data_);
    EXPECT_FALSE(status);
    return bytes_of(path("valid"));
  }
  // The valid file with `from` replaced by `to` in its header, at the same data.
  std::string bent(const std::string& from, const std::string& to) {
    const std::string bytes = valid_bytes();
    std::size_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    std::string header = bytes.substr(8, length);
    const std::size_t at = header.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    header.replace(at, from.size(), to);
    return with_length(header, bytes.substr(8 + length));
  }

  CaseData data_ = data_of("tokens=3 experts=4 top_k=2 in=64 out=5 fill=exact8 seed=7 scale_nan=formula");
};

TEST_F(CaseFile, RoundTrip) {
  for (const char* line :
       {"tokens=3 experts=4 top_k=2 in=64 out=5 fill=exact8 seed=7 scale_nan=formula",
        "tokens=3 experts=4 top_k=2 in=64 out=5 dtype=f64 mixture=f16 shared=bf16 ids_dtype=i64 fill=bits",
        "tokens=0 experts=4 top_k=2 in=64 out=5", "tokens=2 top_k=0 experts=0 in=32 out=3",
        "tokens=3 experts=4 top_k=2 in=32 out=1 fill=nonfinite ids=absent"}) {
    const CaseData data = data_of(line);
    ASSERT_FALSE(write_case(path("case"), data));
    const Result<CaseData> back = read_case(path("case"));
    ASSERT_TRUE(back) << line << ": " << back.error().message();
    EXPECT_EQ(back->line, data.line);
    EXPECT_EQ(back->policy, data.policy);
    EXPECT_EQ(back->proof.has_value(), data.proof.has_value());
    expect_same(back->latent_tokens, data.latent_tokens);
    expect_same(back->packed_weights, data.packed_weights);
    expect_same(back->scale_bytes, data.scale_bytes);
    expect_same(back->selected_experts, data.selected_experts);
    expect_same(back->mixture_weights, data.mixture_weights);
    expect_same(back->shared_output, data.shared_output);
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(CaseFile, SameContentSameBytesAndAlignedData) {
  const std::string once = valid_bytes();
  ASSERT_FALSE(write_case(path("again"), data_));
  EXPECT_EQ(once, bytes_of(path("again")));
  std::size_t length = 0;
  std::memcpy(&length, once.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const Result<Header> header = parse_header(once.substr(8, length), once.size() - 8 - length);
  ASSERT_TRUE(header);
  for (const auto& [name, entry] : header->tensors)
    EXPECT_EQ(entry.begin % size_of(*entry.dtype), 0u) << name;
}

TEST_F(CaseFile, ProofIsOfTheDataNotOfTheLine) {
  data_.shared_output.as<std::uint16_t>()[0] = 0x7F00;  // 2^127: no common unit within the limit
  ASSERT_FALSE(write_case(path("case"), data_));
  const Result<CaseData> back = read_case(path("case"));
  ASSERT_TRUE(back);
  ASSERT_TRUE(back->proof);
  EXPECT_FALSE(back->proof->proved);
}

TEST_F(CaseFile, ScaleBytesMayBeCalledE8M0) {
  EXPECT_EQ(case_error(bent(R"("dtype":"U8","shape":[4,5,2])", R"("dtype":"F8_E8M0","shape":[4,5,2])")), "");
}

struct Bend {
  const char* rule;
  const char* from;
  const char* to;
};

TEST_F(CaseFile, MetadataAndTensorsAreStrict) {
  const std::vector<Bend> bends = {
      {"FILE-14", R"("moe4.version":"1")", R"("moe4.version":"2")"},
      {"FILE-14", R"("moe4.version":"1")", R"("version":"1")"},
      {"FILE-14", R"("moe4.op":"expert_linear")", R"("moe4.op":"grouped")"},
      {"FILE-14", R"("moe4.op":"expert_linear")", R"("moe4.op":"indexed")"},  // without moe4.top_k
      {"FILE-16", R"("moe4.op":"expert_linear")", R"("moe4.op":"grouped_masked")"},
      {"FILE-15", R"("moe4.op":"expert_linear")", R"("moe4.op":"expert_linear","moe4.top_k":"2")"},
      {"FILE-14", R"("moe4.weights":"mxfp4")", R"("moe4.weights":"int8")"},
      {"FILE-16", R"("moe4.weights":"mxfp4")", R"("moe4.weights":"int4")"},
      {"FILE-14", R"("moe4.version":"1")", R"("moe4.version":"1","moe4.profile":"late_f8")"},
      {"FILE-15", R"("moe4.version":"1")", R"("moe4.version":"1","moe4.colour":"red")"},
      {"COR", R"("moe4.policy":"scale_nan=formula")", R"("moe4.policy":"scale_nan=maybe")"},
      {"FILE-16", R"("latent_tokens")", R"("tokens")"},
      {"FILE-17", "tokens=3", "tokens=4"},
      {"FILE-17", "seed=0x7", "seed=0x7 mixture=bf16"},
      {"FILE-17", R"("moe4.policy":"scale_nan=formula")", R"("moe4.policy":"scale_nan=inf")"},
      {"CASE-2", "tokens=3", "tokenz=3"},
      {"CASE-6", "in=64", "in=65"},
      {"VAL-4", R"("shape":[3,64])", R"("shape":[6,32])"},
  };
  for (const Bend& bend : bends) {
    const std::string error = case_error(bent(bend.from, bend.to));
    EXPECT_NE(error.find(bend.rule), std::string::npos) << bend.from << " -> " << bend.to << ": " << error;
  }
  EXPECT_EQ(case_error(bent(R"("moe4.version":"1")", R"("moe4.version":"1","made.by":"anyone")")), "");
}

TEST_F(CaseFile, ExtraTensorIsRefused) {
  Result<SafeTensors> file = parse_bytes(valid_bytes());
  ASSERT_TRUE(file);
  file->tensors.emplace("bias", Tensor(Dtype::kU8, {1}));
  const Result<CaseData> data = case_from(std::move(*file));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().field, "bias");
}

TEST_F(CaseFile, IdsAreValidated) {
  data_.selected_experts.as<std::int32_t>()[3] = 4;
  EXPECT_NE(case_error(valid_bytes()).find("VAL-8"), std::string::npos);
}

TEST_F(CaseFile, PoliciesGoOverTheFilesOwn) {
  data_.selected_experts.as<std::int32_t>()[3] = -1;
  const std::string bytes = valid_bytes();
  EXPECT_NE(case_error(bytes).find("VAL-8"), std::string::npos);
  Result<SafeTensors> file = parse_bytes(bytes);
  ASSERT_TRUE(file);
  const Result<CaseData> data = case_from(std::move(*file), {"ids=absent"});
  ASSERT_TRUE(data) << data.error().message();
  EXPECT_EQ(data->policy.ids, Ids::kAbsent);
}

TEST_F(CaseFile, EveryTruncationIsRefused) {
  const std::string bytes = valid_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_NE(case_error(bytes.substr(0, size)), "") << size;
  }
  EXPECT_NE(case_error(bytes + "x").find("FILE-9"), std::string::npos);
}

TEST_F(CaseFile, MissingFileAndFolder) {
  EXPECT_NE(read_case(path("none")).error().rule.find("FILE-11"), std::string::npos);
  EXPECT_NE(read_case(path("")).error().rule.find("FILE-11"), std::string::npos);
  const Status status = write_case(path("no/such/folder"), data_);
  ASSERT_TRUE(status);
  EXPECT_NE(status->rule.find("FILE-13"), std::string::npos);
}

// A limit on the size of files stands in for a full disk: write fails half-way.
TEST_F(CaseFile, FullDiskLeavesTheOldFileAndNoOther) {
  ASSERT_FALSE(write_case(path("case"), data_));
  const std::string old = bytes_of(path("case"));
  const CaseData large = data_of("tokens=64 experts=4 top_k=2 in=1024 out=64 fill=real");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{10000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status = write_case(path("case"), large);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  ASSERT_TRUE(status);
  EXPECT_NE(status->rule.find("FILE-13"), std::string::npos);
  EXPECT_EQ(bytes_of(path("case")), old);
  EXPECT_EQ(files(), 1u);
}

TEST_F(CaseFile, ResultRoundTripAndRefusals) {
  ResultFile result;
  result.output = Tensor(Dtype::kBF16, {3, 5});
  result.output.as<std::uint16_t>()[14] = 0x1234;
  result.produced_by = "a kernel \"in quotes\"";
  ASSERT_FALSE(write_result(path("result"), result));
  const Result<ResultFile> back = read_result(path("result"));
  ASSERT_TRUE(back) << back.error().message();
  expect_same(back->output, result.output);
  EXPECT_EQ(back->produced_by, result.produced_by);

  result.written = std::vector<std::uint8_t>{1, 0, 1};
  result.line = data_.line;
  result.policy = "scale_nan=formula";
  ASSERT_FALSE(write_result(path("written"), result));
  const Result<ResultFile> with = read_result(path("written"));
  ASSERT_TRUE(with) << with.error().message();
  EXPECT_EQ(with->written, result.written);
  EXPECT_EQ(with->line, data_.line);
  EXPECT_FALSE(check_recorded_case(data_, *with));
  const CaseData other =
      data_of("tokens=3 experts=4 top_k=2 in=64 out=5 fill=exact8 seed=8 scale_nan=formula");
  ASSERT_TRUE(check_recorded_case(other, *with));
  EXPECT_EQ(check_recorded_case(other, *with)->rule.find("FILE-19"), 0u);
  CaseData policy = data_;
  policy.policy = Policy{};
  ASSERT_TRUE(check_recorded_case(policy, *with));
  EXPECT_EQ(check_recorded_case(policy, *with)->field, "moe4.policy");

  const auto error = [](const std::string& header, const std::string& data) {
    Result<SafeTensors> file = parse_bytes(with_length(header, data));
    if (!file) return file.error().message();
    const Result<ResultFile> read = result_from(std::move(*file));
    return read ? "" : read.error().message();
  };
  // By others: no metadata at all is fine.
  EXPECT_EQ(error(R"({"output":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]}})", "ab"), "");
  EXPECT_NE(error(R"({"output":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", "ab").find("FILE-18"),
            std::string::npos);
  EXPECT_NE(error(R"({"output":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}})", "ab").find("FILE-18"),
            std::string::npos);
  EXPECT_NE(error(R"({"out":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]}})", "ab").find("FILE-18"),
            std::string::npos);
  for (const char* written :
       {R"("U8","shape":[2],"data_offsets":[2,4])", R"("U8","shape":[1,1],"data_offsets":[2,3])",
        R"("U8","shape":[1],"data_offsets":[2,3])"}) {
    // Of another length, of another rank, and neither 0 nor 1.
    const std::string header =
        std::string(R"({"output":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]},"written":{"dtype":)") +
        written + "}}";
    const std::string bytes = std::string(written).find("[2,4]") != std::string::npos ? "abcd" : "abc";
    EXPECT_NE(error(header, bytes).find("FILE-18"), std::string::npos) << header << error(header, bytes);
  }
  EXPECT_NE(
      error(
          R"({"__metadata__":{"moe4.version":"2"},"output":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]}})",
          "ab")
          .find("FILE-14"),
      std::string::npos);
}

}  // namespace
}  // namespace moe4::oracle
