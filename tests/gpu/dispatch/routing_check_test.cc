// The checks of an untrusted routing against the reference's serving contracts, on drawn routings with drawn
// edits.
#include "gpu/launch/dispatch/routing_check.h"

#include <gtest/gtest.h>

#include <random>

#include "reference/routing/contract.h"

namespace moe4::gpu {
namespace {

constexpr std::int64_t kIn = 128, kOut = 128, kExperts = 3;
constexpr int kTrials = 3000;

class Draw {
 public:
  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>(engine_() % static_cast<unsigned>(bound));
  }

 private:
  std::mt19937 engine_{7};
};

Tensor ids(const std::vector<std::int32_t>& values) {
  Tensor tensor(Dtype::kI32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<std::int32_t>().begin());
  return tensor;
}

// Weights and tokens of zeros: the contracts speak of shapes and routing.
struct Layer {
  explicit Layer(Shape tokens_shape) : tokens(Dtype::kBF16, std::move(tokens_shape)) {}

  Tensor tokens;
  Tensor codes{Dtype::kI32, {kExperts, kOut, kIn / 8}};
  Tensor scales{Dtype::kBF16, {kExperts, kOut, kIn / 32}};
  ExpertWeights weights{WeightFormat::kInt4, codes.view(), scales.view()};
};

// A routing as an aligner makes it, then up to two edits.
IndexedRouting drawn(Draw& draw, std::vector<std::int32_t>& sorted, std::vector<std::int32_t>& experts,
                     std::int64_t rows) {
  sorted.clear();
  experts.clear();
  std::int32_t id = 0;
  for (std::int32_t expert = 0; expert < kExperts; ++expert) {
    const std::int32_t used = draw.below(9);
    for (std::int32_t place = 0; place < 8; ++place) {
      sorted.push_back(place < used && id < rows ? id++ : static_cast<std::int32_t>(rows));
    }
    experts.push_back(expert);
  }
  std::int32_t padded = 8 * (1 + draw.below(kExperts));
  const std::int32_t edits[] = {-1, 0, 1, 7, 8, 9, 16, 24, 25, 32, static_cast<std::int32_t>(rows) + 3};
  const auto edit = [&] { return edits[draw.below(std::ssize(edits))]; };
  for (std::int32_t n = draw.below(3); n > 0; --n) {
    switch (draw.below(3)) {
      case 0:
        sorted[static_cast<std::size_t>(draw.below(static_cast<std::int32_t>(sorted.size())))] = edit();
        break;
      case 1:
        experts[static_cast<std::size_t>(draw.below(kExperts))] = edit();
        break;
      default:
        padded = edit();
    }
  }
  return {sorted, experts, padded, rows, kExperts, 8};
}

TEST(RoutingCheck, IndexedAgreesWithTheContract) {
  Draw draw;
  Layer layer({20, kIn});
  std::vector<std::int32_t> sorted, experts;
  int refused = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const IndexedRouting routing = drawn(draw, sorted, experts, 20);
    const Tensor sorted_ids = ids(sorted), expert_ids = ids(experts),
                 padded = ids({routing.num_tokens_padded});
    const Status status = validate_contract(IndexedInputs{
        layer.tokens.view(), layer.weights, sorted_ids.view(), expert_ids.view(), padded.view(), 1, 8});
    const std::string error = indexed_routing_error(routing);
    ASSERT_EQ(error.empty(), !status.has_value())
        << error << "\nreference: " << (status ? status->message() : "accepts");
    refused += status ? 1 : 0;
  }
  EXPECT_GT(refused, kTrials / 5);
  EXPECT_LT(refused, kTrials * 4 / 5);
}

TEST(RoutingCheck, ContiguousAgreesWithTheContract) {
  Draw draw;
  Layer layer({256, kIn});
  int refused = 0;
  for (int trial = 0; trial < kTrials / 10; ++trial) {
    std::vector<std::int32_t> indices;
    for (int tile = 0; tile < 2; ++tile) {
      const std::int32_t expert = draw.below(kExperts), used = draw.below(129);
      for (std::int32_t row = 0; row < 128; ++row) indices.push_back(row < used ? expert : -1);
    }
    for (std::int32_t n = draw.below(3); n > 0; --n) {
      indices[static_cast<std::size_t>(draw.below(256))] = draw.below(kExperts + 3) - 2;
    }
    const Tensor m_indices = ids(indices);
    const Status status =
        validate_contract(GroupedContiguousInputs{layer.tokens.view(), layer.weights, m_indices.view()});
    const std::string error = contiguous_routing_error(indices, kExperts);
    ASSERT_EQ(error.empty(), !status.has_value())
        << error << "\nreference: " << (status ? status->message() : "accepts");
    refused += status ? 1 : 0;
  }
  EXPECT_GT(refused, 30);
  EXPECT_NE(contiguous_routing_error(std::vector<std::int32_t>(130, 0), kExperts), "");
}

TEST(RoutingCheck, MaskedAgreesWithTheContract) {
  Draw draw;
  int refused = 0;
  for (int trial = 0; trial < kTrials / 10; ++trial) {
    const std::int32_t max_m = 1 + draw.below(70), block_m = 16 + 8 * draw.below(3);
    Layer layer({kExperts, max_m, kIn});
    const std::vector<std::int32_t> rows = {draw.below(max_m + 2), draw.below(max_m),
                                            draw.below(max_m + 2) - 1};
    const Tensor masked_m = ids(rows);
    const Status status =
        validate_contract(GroupedMaskedInputs{layer.tokens.view(), layer.weights, masked_m.view()}, block_m);
    const std::string error = masked_routing_error(rows, max_m, block_m);
    ASSERT_EQ(error.empty(), !status.has_value())
        << error << "\nreference: " << (status ? status->message() : "accepts");
    refused += status ? 1 : 0;
  }
  EXPECT_GT(refused, 30);
  EXPECT_LT(refused, 270);
}

TEST(RoutingCheck, NamesTheElement) {
  const std::vector<std::int32_t> sorted = {0, 1, 9, 2, 9, 9, 9, 9}, experts = {0};
  EXPECT_EQ(indexed_routing_error({sorted, experts, 8, 4, 1, 8}),
            "sorted_ids[3] = 2: a row after a sentinel of its block");
  EXPECT_EQ(indexed_routing_error({sorted, experts, 16, 4, 1, 8}),
            "num_tokens_padded = 16: exceeds the elements of sorted_ids");
}

}  // namespace
}  // namespace moe4::gpu
