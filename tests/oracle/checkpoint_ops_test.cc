// Weights of a checkpoint under the operations on rows, in both formats (CKP-13, CKP-15).
#include <cstring>

#include "oracle/file/checkpoint/checkpoint_case.h"
#include "tests/oracle/checkpoint_support.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

class CheckpointOps : public FileTest {
 protected:
  Checkpoint open(Model model) {
    m_.model = model;
    std::filesystem::create_directories(path("m"));
    write_shards(path("m"), model_tensors(m_), 3);
    Result<Checkpoint> checkpoint = Checkpoint::open(path("m"), {2, Projection::kDown, {}});
    EXPECT_TRUE(checkpoint) << checkpoint.error().message();
    return std::move(*checkpoint);
  }
  ModelOptions m_;
};

TEST_F(CheckpointOps, Int4RowsHaveTheCheckpointsWeights) {
  for (const char* op : {"expert_linear", "indexed", "grouped_contiguous", "grouped_masked"}) {
    Checkpoint checkpoint = open(Model::kK2);
    const std::string words = std::string("op=") + op + " layout=compressed_tensors tokens=3 top_k=2 seed=9";
    Result<Case> line = checkpoint_line(checkpoint, words);
    ASSERT_TRUE(line) << line.error().message();
    EXPECT_EQ(line->weights, WeightFormat::kInt4);
    Result<CaseData> data = checkpoint_case(checkpoint, *line);
    ASSERT_TRUE(data) << data.error().message();
    int rows = 0;
    for (const OutputRow& row : output_rows(*data)) {
      for (const Slot& slot : row.slots) {
        ++rows;
        for (std::int64_t o = 0; o < 64; ++o) {
          for (std::int64_t i = 0; i < 96; ++i) {
            ASSERT_EQ(any_code_at(*data, slot.expert, o, i), code_of(2, slot.expert, 'd', o, i));
          }
          for (std::int64_t g = 0; g < 3; ++g) {
            ASSERT_EQ(any_scale_at(*data, slot.expert, o, g), scale_of(m_, 2, slot.expert, 'd', o, g));
          }
        }
      }
    }
    EXPECT_EQ(rows, 6);
    ASSERT_EQ(data->packed.codes.bytes(), data->packed_weights.bytes());
    EXPECT_EQ(std::memcmp(data->packed.codes.data(), data->packed_weights.data(), data->packed.codes.bytes()),
              0)
        << "packed before the checkpoint was read";
    ASSERT_FALSE(write_case(path("case"), *data));
    const Result<CaseData> back = read_case(path("case"));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(digest_of_all(*back), digest_of_all(*data));
  }
}

TEST_F(CheckpointOps, CombineAndRanksAreRefused) {
  const Checkpoint checkpoint = open(Model::kK3);
  for (const char* words : {"op=combine tokens=2 top_k=2", "op=indexed tokens=2 top_k=2 ep=rank(0,5)"}) {
    const Result<Case> line = checkpoint_line(checkpoint, words);
    ASSERT_FALSE(line) << words;
    EXPECT_EQ(line.error().rule.find("CKP-15"), 0u) << line.error().message();
  }
}

}  // namespace
}  // namespace moe4::oracle
