// A line beside a checkpoint: what it may say, what of the case is drawn and what is the checkpoint's.
#include <algorithm>
#include <cstring>

#include "oracle/file/checkpoint/checkpoint_case.h"
#include "oracle/generate/generate.h"
#include "tests/oracle/checkpoint_support.h"

namespace moe4::oracle {
namespace {

class CheckpointCase : public FileTest {
 protected:
  void SetUp() override {
    FileTest::SetUp();
    write_shards(path(""), model_tensors(m_), 3);
  }
  Checkpoint open(std::vector<std::int64_t> experts = {}) const {
    Result<Checkpoint> checkpoint = Checkpoint::open(path(""), {2, Projection::kDown, std::move(experts)});
    EXPECT_TRUE(checkpoint) << checkpoint.error().message();
    return std::move(*checkpoint);
  }
  std::string refusal(const std::string& line) const {
    const Result<Case> parsed = checkpoint_line(open(), line);
    return parsed ? "" : parsed.error().message();
  }
  CaseData data(const std::string& line, std::vector<std::int64_t> experts = {}) {
    Checkpoint checkpoint = open(std::move(experts));
    Result<Case> parsed = checkpoint_line(checkpoint, line);
    EXPECT_TRUE(parsed) << parsed.error().message();
    Result<CaseData> result = checkpoint_case(checkpoint, *parsed);
    EXPECT_TRUE(result) << result.error().message();
    bytes_read_ = checkpoint.bytes_read();
    return std::move(*result);
  }

  ModelOptions m_;
  std::uint64_t bytes_read_ = 0;
};

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "says: " << (text)

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST_F(CheckpointCase, TheLineIsCompleted) {
  const Result<Case> line = checkpoint_line(open({1, 3}), "tokens=4\ttop_k=2  seed=7");
  ASSERT_TRUE(line) << line.error().message();
  EXPECT_EQ(to_string(*line),
            "op=expert_linear weights=mxfp4 tokens=4 experts=2 top_k=2 in=96 out=64 dtype=bf16 fill=real "
            "routing=uniform seed=0x7");
  EXPECT_TRUE(checkpoint_line(open({1, 3}), to_string(*line)));
}

TEST_F(CheckpointCase, ContradictionsAreRefused) {
  for (const char* pair : {"experts=4", "in=64", "out=96", "weights=int4", "experts=05"}) {
    EXPECT_SAYS(refusal(std::string("tokens=2 ") + pair), "CKP-14: the checkpoint has") << pair;
  }
  EXPECT_EQ(refusal("experts=5 in=96 out=64 weights=mxfp4"), "");
  for (const char* fill : {"exact8", "exact24", "bits", "cancel", "slab_cancel", "ties", "subnormal"}) {
    EXPECT_SAYS(refusal(std::string("fill=") + fill), "CKP-15") << fill;
  }
  for (const char* fill : {"real", "positive", "onehot", "nonfinite"}) {
    EXPECT_EQ(refusal(std::string("fill=") + fill), "") << fill;
  }
  for (const char* list : {"keep_outputs=0", "keep_groups=0", "keep_codes=0-3"}) {
    EXPECT_SAYS(refusal(list), "CKP-15: it would change") << list;
  }
  EXPECT_EQ(refusal("tokens=3 keep_tokens=1"), "");
  // What any line is refused for.
  EXPECT_SAYS(refusal("tokens=2 scales=window(0,3)"), "CASE-9");
  EXPECT_SAYS(refusal("tokens=2 top_k=6"), "CASE-8");
  EXPECT_SAYS(refusal("tokens"), "CASE-1");
  EXPECT_SAYS(refusal("in="), "CKP-14");
  EXPECT_SAYS(refusal("in=96 in=96"), "CASE-1");
  EXPECT_SAYS(refusal("tokenz=3"), "CASE-2");
}

TEST_F(CheckpointCase, WeightsAreTheCheckpointsAndTheRestIsDrawn) {
  const CaseData made = data("tokens=3 top_k=2 seed=9 dtype=f32");
  const Result<CaseData> drawn = generate(*made.line);
  ASSERT_TRUE(drawn);
  EXPECT_TRUE(same_bytes(made.latent_tokens, drawn->latent_tokens));
  EXPECT_TRUE(same_bytes(made.selected_experts, drawn->selected_experts));
  EXPECT_TRUE(same_bytes(made.mixture_weights, drawn->mixture_weights));
  EXPECT_TRUE(same_bytes(made.shared_output, drawn->shared_output));
  EXPECT_FALSE(same_bytes(made.packed_weights, drawn->packed_weights));
  EXPECT_FALSE(same_bytes(made.scale_bytes, drawn->scale_bytes));
}

// CKP-13.
TEST_F(CheckpointCase, SelectedExpertsAreReadAndNoOthers) {
  const auto check = [this](const std::string& line, unsigned code_elsewhere, unsigned scale_elsewhere) {
    const std::vector<std::int64_t> experts = {0, 2, 3, 4};
    const CaseData made = data(line, experts);
    std::vector<bool> selected(4, false);
    for (const std::int32_t id : made.selected_experts.as<std::int32_t>())
      selected[static_cast<std::size_t>(id)] = true;
    const auto count = static_cast<std::uint64_t>(std::count(selected.begin(), selected.end(), true));
    ASSERT_LT(count, 4u) << line;
    EXPECT_EQ(bytes_read_, count * 64 * 3 * 17);
    const WeightReader reader(ExpertWeights::mxfp4(made.packed_weights.view(), made.scale_bytes.view()),
                              Policy{});
    for (std::int64_t n = 0; n < 4; ++n) {
      const std::int64_t e = experts[static_cast<std::size_t>(n)];
      const bool is = selected[static_cast<std::size_t>(n)];
      for (std::int64_t o = 0; o < 64; ++o) {
        for (std::int64_t g = 0; g < 3; ++g) {
          const unsigned scale =
              made.scale_bytes.as<std::uint8_t>()[static_cast<std::size_t>((n * 64 + o) * 3 + g)];
          ASSERT_EQ(scale, is ? scale_of(m_, 2, e, 'd', o, g) : scale_elsewhere) << n << " " << o;
          const WeightGroup group = reader.group(n, o, g);
          for (std::int64_t k = 0; k < 32; ++k) {
            ASSERT_EQ(group.code[static_cast<std::size_t>(k)],
                      is ? code_of(2, e, 'd', o, 32 * g + k) : code_elsewhere);
          }
        }
      }
    }
  };
  check("tokens=1 top_k=2 seed=3", 0, 0);
  check("tokens=2 top_k=2 seed=3 routing=poison", 7, 255);
  check("tokens=5 top_k=2 routing=one", 0, 0);
}

TEST_F(CheckpointCase, TheFileSaysWhereTheWeightsComeFrom) {
  const CaseData made = data("tokens=2 top_k=2 seed=3", {1, 3, 4});
  ASSERT_FALSE(write_case(path("case"), made));
  const Result<CaseData> back = read_case(path("case"));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->checkpoint, "--layer 2 --projection down --experts 1+3-4");
  EXPECT_EQ(to_string(*back->line), to_string(*made.line));
  EXPECT_TRUE(same_bytes(back->packed_weights, made.packed_weights));
  ASSERT_FALSE(write_case(path("again"), *back));
  EXPECT_EQ(bytes_of(path("case")), bytes_of(path("again")));
}

}  // namespace
}  // namespace moe4::oracle
