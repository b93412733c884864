// A launch that dispatch made depends on shapes alone: its plan is given no device to read from. Made once,
// it is replayed on other routings of the same capacity, as a captured CUDA graph would be. The sums are
// small integers, so that the norm's bits are due from every order and accumulator.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <stdexcept>

#include "gpu/device/device.h"
#include "gpu/launch/dispatch/pick_kernel.h"
#include "gpu/launch/dispatch/routing_check.h"
#include "reference/accumulate/tensor_core.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"
#include "reference/profile/declared_rows.h"
#include "reference/routing/align_blocks.h"
#include "reference/routing/grouped_rows.h"

namespace moe4::gpu {
namespace {

constexpr std::int64_t kExperts = 3, kOut = 192, kIn = 128, kTokens = 20, kTopK = 2;
constexpr std::int64_t kRouted = kTokens * kTopK, kMaxM = 128;
constexpr std::uint16_t kOne = 0x3f80;  // BF16

void multiply_add(const void*, const ptx::TensorTile& tile) {
  tensor_core_tile(*moe4::tensor_core("hopper"), Dtype::kBF16,
                   {tile.rows, tile.columns, tile.k, tile.a, tile.b, tile.d});
}

std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

// Weights of codes -8 … 7 and scales 1, 2, 4; tokens -1, 0, 1: |sum| <= 128 · 8 · 4.
struct Layer {
  explicit Layer(Shape tokens_shape) : tokens(Dtype::kBF16, std::move(tokens_shape)) {
    std::mt19937 draw(3);
    for (std::uint32_t& word : codes.as<std::uint32_t>()) word = static_cast<std::uint32_t>(draw());
    for (std::uint16_t& scale : scales.as<std::uint16_t>())
      scale = static_cast<std::uint16_t>(kOne + 0x80 * (draw() % 3));
    for (std::uint16_t& token : tokens.as<std::uint16_t>()) {
      const std::uint16_t values[] = {0, kOne, kOne | 0x8000};
      token = values[draw() % 3];
    }
  }

  ExpertWeights weights() const { return ExpertWeights::int4(codes.view(), scales.view()); }
  PackedWeight packed(std::string_view deployment) const {
    PackedWeightResult result =
        pack_for(*find_deployment(deployment), {kExperts, kOut, kIn}, {bytes_of(codes), bytes_of(scales)});
    EXPECT_TRUE(result.weight) << result.error;
    return std::move(*result.weight);
  }

  Tensor tokens;
  Tensor codes{Dtype::kI32, {kExperts, kOut, kIn / 8}};
  Tensor scales{Dtype::kBF16, {kExperts, kOut, kIn / 32}};
};

// Buffers that stay in place from launch to launch.
class Capture {
 public:
  BufferId input(std::string_view tensor, std::span<const std::byte> host) {
    const BufferId id = device_->add_input(std::string(tensor), host);
    buffers_.emplace(tensor, id);
    return id;
  }
  void zeroed(std::string_view tensor, std::uint64_t bytes) {
    buffers_.emplace(tensor, device_->add_zeroed(std::string(tensor), bytes));
  }
  void output(std::int64_t rows) {
    output_ = device_->add_output("output", static_cast<std::uint64_t>(rows * kOut * 2));
    buffers_.emplace("output", output_);
    result_ = Tensor(Dtype::kBF16, {rows, kOut});
  }
  const TensorBuffers& buffers() const { return buffers_; }

  // The launch as it was made, on what the input buffers hold now.
  const Tensor& replay(const KernelLaunch& launch) {
    ptx::TensorCore core{"hopper", &multiply_add};
    LaunchSettings settings;
    settings.tensor_core = &core;
    const LaunchOutcome outcome = device_->launch(launch, settings);
    EXPECT_EQ(outcome.error.value_or(""), "");
    EXPECT_TRUE(outcome.completed);
    for (const ptx::Finding& finding : outcome.findings) {
      if (!finding.formal) ADD_FAILURE() << finding.message;
    }
    device_->read(output_, {result_.data(), result_.bytes()});
    return result_;
  }

 private:
  std::unique_ptr<Device> device_ = make_executor_device();
  TensorBuffers buffers_;
  BufferId output_;
  Tensor result_;
};

int compare(const RowsResult& due, const Tensor& actual) {
  int rows = 0;
  const auto expected = due.output.as<std::uint16_t>();
  const auto got = actual.as<std::uint16_t>();
  for (std::size_t row = 0; row < due.written.size(); ++row) {
    if (due.written[row] == 0) continue;
    ++rows;
    for (std::size_t o = 0; o < std::size_t{kOut}; ++o) {
      const std::size_t at = row * kOut + o;
      const bool zeros = (expected[at] & 0x7fff) == 0 && (got[at] & 0x7fff) == 0;
      EXPECT_TRUE(zeros || expected[at] == got[at]) << "row " << row << " output " << o;
    }
  }
  return rows;
}

Routes routes_of(int routing) {
  Routes routes{kTokens, kTopK, std::vector<std::int32_t>(kRouted)};
  std::mt19937 draw(static_cast<unsigned>(routing));
  for (std::int32_t& expert : routes.expert) {
    expert = routing == 0 ? 1 : static_cast<std::int32_t>(draw() % (kExperts + 1)) - 1;
  }
  return routes;
}

// The sums are exact; what rounds is the BF16 of a slice.
Arithmetic stream_k(int slices) {
  Arithmetic arithmetic;
  arithmetic.order = parse_order("streamk(" + std::to_string(slices) + ")").value();
  return arithmetic;
}

// One launch of the kernel on three routings.
void replay_indexed(const Layer& layer, const PackedWeight& weight, const PickedKernel& kernel) {
  const std::int64_t capacity = aligned_capacity(kRouted, kExperts, kernel.block_m);
  std::vector<std::int32_t> sorted(static_cast<std::size_t>(capacity)),
      experts(static_cast<std::size_t>(capacity / kernel.block_m + 1)), padded(1);

  Capture capture;
  capture.input("latent_tokens", bytes_of(layer.tokens));
  capture.input("packed_weights", weight.codes);
  capture.input("scales", weight.scales);
  capture.input("sorted_ids", std::as_bytes(std::span(sorted)));
  capture.input("expert_ids", std::as_bytes(std::span(experts)));
  capture.input("num_tokens_padded", std::as_bytes(std::span(padded)));
  capture.output(kRouted);
  const LaunchShape shape{.tokens = kTokens,
                          .experts = kExperts,
                          .in = kIn,
                          .out = kOut,
                          .top_k = kTopK,
                          .block_m = kernel.block_m,
                          .capacity = capacity};
  if (kernel.variant->workspace_bytes != nullptr)
    capture.zeroed("workspace", kernel.variant->workspace_bytes(shape));
  const auto launch = kernel.variant->plan(*kernel.variant, shape, capture.buffers());
  ASSERT_TRUE(launch);

  const int slices = kernel.variant->tile.slices;
  int rows = 0;
  for (int routing = 0; routing < 3; ++routing) {
    SCOPED_TRACE(routing);
    const AlignedRoutes aligned = align_blocks(routes_of(routing), kExperts, kernel.block_m);
    std::fill(sorted.begin(), sorted.end(), 0x7fffffff);
    std::fill(experts.begin(), experts.end(), -1);
    std::copy_n(aligned.sorted_ids.begin(), aligned.num_tokens_padded, sorted.begin());
    std::copy_n(aligned.expert_ids.begin(), aligned.num_tokens_padded / kernel.block_m, experts.begin());
    padded[0] = aligned.num_tokens_padded;
    ASSERT_EQ(indexed_routing_error({sorted, experts, padded[0], kRouted, kExperts, kernel.block_m}), "");
    const IndexedInputs inputs{layer.tokens.view(),
                               layer.weights(),
                               aligned.sorted_ids_view(),
                               aligned.expert_ids_view(),
                               aligned.num_tokens_padded_view(),
                               kTopK,
                               kernel.block_m};
    const auto due = slices == 1 ? indexed(inputs) : declared_indexed(inputs, stream_k(slices));
    rows += compare(due.value(), capture.replay(*launch));
  }
  EXPECT_GT(rows, kRouted + kRouted / 2);
}

class Replay : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (variants().front().ptx.empty()) GTEST_SKIP() << "built without the CUDA Toolkit";
  }
};

class ReplayOnce : public Replay {};

TEST_P(Replay, IndexedLaunchServesEveryRouting) {
  const Deployment& deployment = *find_deployment(GetParam());
  const Layer layer({kTokens, kIn});
  const PackedWeight weight = layer.packed(GetParam());
  const PickedKernel kernel = pick_kernel(
      weight, {.op = "indexed", .capability = deployment.capabilities.front(), .in = kIn, .rows = kRouted});
  ASSERT_NE(kernel.variant, nullptr) << kernel.error;
  replay_indexed(layer, weight, kernel);
}

// Prefill and decode read the same bytes: h200_tp8 packs once and takes other tiles for more ids a block.
TEST_F(ReplayOnce, OnePackedWeightServesBothPhases) {
  const Layer layer({kTokens, kIn});
  const PackedWeight weight = layer.packed("h200_tp8");
  EXPECT_EQ(weight.deployment->phase, Phase::kMixed);
  std::set<std::string_view> kernels;
  for (const std::int32_t block_m : {8, 32, 64, 128}) {
    SCOPED_TRACE(block_m);
    const PickedKernel kernel =
        pick_kernel(weight, {.op = "indexed", .in = kIn, .rows = kRouted, .block_m = block_m});
    ASSERT_NE(kernel.variant, nullptr) << kernel.error;
    kernels.insert(kernel.variant->name);
    replay_indexed(layer, weight, kernel);
  }
  EXPECT_EQ(kernels.size(), 4u);
}

// The blocks of stream-K count turns in global memory; each launch leaves the counts as it found them.
TEST_P(Replay, StreamKLaunchServesEveryRouting) {
  if (find_deployment(GetParam())->layout != "indexed_wgmma")
    GTEST_SKIP() << "no stream-K kernel for its layout";
  const Layer layer({kTokens, kIn});
  int seen = 0;
  for (const Variant& variant : variants()) {
    if (variant.layout != "indexed_wgmma" || variant.tile.slices == 1) continue;
    SCOPED_TRACE(variant.name);
    replay_indexed(layer, layer.packed(GetParam()), {&variant, 16, {}});
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

INSTANTIATE_TEST_SUITE_P(Deployments, Replay,
                         testing::Values("h200_prefill_ep8", "h200_tp8", "h200_decode_ep8",
                                         "blackwell_decode_ep8"),
                         [](const auto& deployment) { return std::string(deployment.param); });

TEST_F(ReplayOnce, ContiguousLaunchServesEveryRouting) {
  constexpr std::int64_t kRows = 3 * 128;
  const Layer layer({kRows, kIn});
  const PackedWeight weight = layer.packed("h200_grouped_prefill");
  const PickedKernel kernel = pick_kernel(weight, {.op = "grouped_contiguous", .in = kIn, .rows = kRows});
  ASSERT_NE(kernel.variant, nullptr) << kernel.error;
  std::vector<std::int32_t> m_indices(kRows);
  Capture capture;
  capture.input("latent_tokens", bytes_of(layer.tokens));
  capture.input("packed_weights", weight.codes);
  capture.input("scales", weight.scales);
  capture.input("m_indices", std::as_bytes(std::span(m_indices)));
  capture.output(kRows);
  const LaunchShape shape{.tokens = kRows, .experts = kExperts, .in = kIn, .out = kOut};
  const auto launch = kernel.variant->plan(*kernel.variant, shape, capture.buffers());
  ASSERT_TRUE(launch);
  for (int routing = 0; routing < 3; ++routing) {
    SCOPED_TRACE(routing);
    const ContiguousRows rows = contiguous_rows(routes_of(routing), kExperts);
    std::fill(m_indices.begin(), m_indices.end(), -1);
    std::copy(rows.m_indices.begin(), rows.m_indices.end(), m_indices.begin());
    ASSERT_EQ(contiguous_routing_error(m_indices, kExperts), "");
    const auto due = grouped_contiguous(GroupedContiguousInputs{
        layer.tokens.view(), layer.weights(), {Dtype::kI32, {kRows}, m_indices.data(), {}}});
    EXPECT_GT(compare(due.value(), capture.replay(*launch)), 0);
  }
}

TEST_F(ReplayOnce, MaskedLaunchServesEveryRouting) {
  const Layer layer({kExperts, kMaxM, kIn});
  const PackedWeight weight = layer.packed("h200_grouped_decode");
  const PickedKernel kernel =
      pick_kernel(weight, {.op = "grouped_masked", .in = kIn, .rows = kExperts * kMaxM, .expected_m = 13});
  ASSERT_NE(kernel.variant, nullptr) << kernel.error;
  std::vector<std::int32_t> masked_m(kExperts);
  Capture capture;
  capture.input("latent_tokens", bytes_of(layer.tokens));
  capture.input("packed_weights", weight.codes);
  capture.input("scales", weight.scales);
  capture.input("masked_m", std::as_bytes(std::span(masked_m)));
  capture.output(kExperts * kMaxM);
  const LaunchShape shape{
      .tokens = kExperts * kMaxM, .experts = kExperts, .in = kIn, .out = kOut, .max_m = kMaxM};
  const auto launch = kernel.variant->plan(*kernel.variant, shape, capture.buffers());
  ASSERT_TRUE(launch);
  for (int routing = 0; routing < 3; ++routing) {
    SCOPED_TRACE(routing);
    const auto rows = masked_rows(routes_of(routing), kExperts, kMaxM);
    masked_m.assign(rows.value().masked_m.begin(), rows.value().masked_m.end());
    ASSERT_EQ(masked_routing_error(masked_m, kMaxM, kernel.block_m), "");
    const auto due = grouped_masked(GroupedMaskedInputs{
        layer.tokens.view(), layer.weights(), {Dtype::kI32, {kExperts}, masked_m.data(), {}}});
    EXPECT_GT(compare(due.value(), capture.replay(*launch)), 0);
  }
}

}  // namespace
}  // namespace moe4::gpu
