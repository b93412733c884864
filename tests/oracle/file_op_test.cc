// Case files of every operation.
#include "tests/oracle/file_support.h"

namespace moe4::oracle {
namespace {

class OpFile : public FileTest {
 protected:
  std::string written(const CaseData& data) {
    EXPECT_FALSE(write_case(path("case"), data));
    return bytes_of(path("case"));
  }
};

TEST_F(OpFile, RoundTripOfEveryOperation) {
  for (const Op op : all_ops()) {
    for (const char* more : {"weights=mxfp4 fill=exact8", "weights=int4 fill=bits routing=minus_one",
                             "weights=int4 fill=nonfinite tokens=0"}) {
      std::string line = "op=" + std::string(name_of(op)) + " experts=4 top_k=2 in=64 out=5 seed=7 " + more;
      if (line.find("tokens") == std::string::npos) line += " tokens=5";
      if (op == Op::kExpertLinear && line.find("minus_one") != std::string::npos) line += " ids=absent";
      const CaseData data = data_of(line);
      ASSERT_FALSE(write_case(path("case"), data));
      const Result<CaseData> back = read_case(path("case"));
      ASSERT_TRUE(back) << line << ": " << back.error().message();
      EXPECT_EQ(back->line, data.line);
      EXPECT_EQ(back->op, data.op);
      EXPECT_EQ(back->weights, data.weights);
      EXPECT_EQ(back->has_selected_experts, data.has_selected_experts);
      EXPECT_EQ(back->output_dtype, data.output_dtype);
      EXPECT_EQ(std::pair(back->top_k, back->block_m), std::pair(data.top_k, data.block_m));
      EXPECT_EQ(back->expected_m, data.expected_m);
      for (Tensor CaseData::*member :
           {&CaseData::latent_tokens, &CaseData::packed_weights, &CaseData::scale_bytes, &CaseData::scales,
            &CaseData::mixture_weights, &CaseData::shared_output, &CaseData::sorted_ids,
            &CaseData::expert_ids, &CaseData::num_tokens_padded, &CaseData::m_indices, &CaseData::masked_m,
            &CaseData::rows}) {
        expect_same((*back).*member, data.*member);
      }
    }
  }
}

TEST_F(OpFile, LayoutOfTheLineIsPackedAnew) {
  const CaseData data = data_of("op=indexed weights=int4 layout=indexed_mma tokens=3 in=64 out=64 fill=bits");
  ASSERT_FALSE(write_case(path("case"), data));
  const Result<CaseData> back = read_case(path("case"));
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_NE(back->layout, nullptr);
  expect_same(back->packed.codes, data.packed.codes);
  expect_same(back->packed.scales, data.packed.scales);
}

// Each number that the line gives is held against the tensors.
TEST_F(OpFile, LineOfAnOperationAgreesWithItsTensors) {
  const std::vector<std::pair<std::string, std::string>> lies = {
      {"op=indexed tokens=3 top_k=2 experts=4 block_m=8 capacity=64 in=64 out=5", "block_m=16"},
      {"op=indexed tokens=3 top_k=2 experts=4 block_m=8 capacity=64 in=64 out=5", "capacity=65"},
      {"op=indexed tokens=3 top_k=2 experts=4 in=64 out=5", "top_k=3"},
      {"op=indexed tokens=3 top_k=2 experts=4 in=64 out=5", "op=grouped_masked"},
      {"op=grouped_contiguous tokens=3 top_k=2 experts=4 in=64 out=5 capacity=768", "capacity=769"},
      {"op=grouped_masked tokens=3 top_k=2 experts=4 in=64 out=5 max_m=8 expected_m=2", "max_m=9"},
      {"op=grouped_masked tokens=3 top_k=2 experts=4 in=64 out=5 max_m=8 expected_m=2", "expected_m=3"},
      {"op=combine tokens=3 top_k=2 experts=4 in=64 out=5 dtype=f32", "dtype=f16"},
      {"op=combine tokens=3 top_k=2 experts=4 in=64 out=5", "tokens=4"},
      {"op=indexed weights=int4 tokens=3 top_k=2 experts=4 in=64 out=5 ep=rank(0,2)", "ep=rank(0,1)"},
  };
  for (const auto& [line, lie] : lies) {
    const CaseData data = data_of(line);
    const std::string key = lie.substr(0, lie.find('='));
    std::string lying = to_string(*data.line);
    const std::size_t at = (" " + lying).find(" " + key + "=");
    ASSERT_NE(at, std::string::npos) << line;
    lying.replace(at, lying.find_first_of(" ", at) - at, lie);
    Result<SafeTensors> file = parse_bytes(written(data));
    ASSERT_TRUE(file);
    EXPECT_TRUE(case_from(*file).ok()) << line;
    file->metadata["moe4.case"] = lying;
    const Result<CaseData> read = case_from(std::move(*file));
    ASSERT_FALSE(read) << lying;
    const std::string rule = read.error().rule;
    EXPECT_TRUE(rule.find("FILE-17") == 0 || rule.find("CASE-13") == 0) << lying << ": " << rule;
  }
}

}  // namespace
}  // namespace moe4::oracle
