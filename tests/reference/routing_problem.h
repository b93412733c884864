// Weights, tokens and routes for tests of the serving contracts, in either weight format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/linear/expert_weights.h"
#include "reference/linear/indexed.h"
#include "reference/routing/align_blocks.h"
#include "reference/routing/routes.h"

namespace moe4::test {

// Begins as: every weight 1, every token element 1.
struct Layer {
  Layer(WeightFormat format, std::int64_t tokens, std::int64_t experts, std::int64_t in, std::int64_t out);

  ExpertWeights weights() const;
  Layer& code(std::int64_t e, std::int64_t o, std::int64_t i, std::uint8_t code);  // of the format
  // A scale of the format, by its bits, for a whole expert.
  Layer& scale_bits(std::int64_t e, std::uint64_t bits);
  Layer& poison_expert(std::int64_t e);  // NaN scales, and codes that nothing else here has

  WeightFormat format;
  std::int64_t experts;
  std::int64_t in;
  std::int64_t out;
  Tensor tokens;  // BF16 [M,I]
  Tensor packed_weights;
  Tensor scales;
};

inline constexpr WeightFormat kBothFormats[] = {WeightFormat::kMxfp4, WeightFormat::kInt4};

// Finite data in every bit pattern of codes; scales of both signs for INT4.
Layer drawn_layer(WeightFormat format, std::int64_t tokens, std::int64_t experts, std::int64_t in,
                  std::int64_t out, std::uint64_t seed);
// Experts 0..experts-1, and -1 for some routes if `absent`. Experts are not always distinct in a token.
Routes drawn_routes(std::int64_t tokens, std::int64_t top_k, std::int64_t experts, std::uint64_t seed,
                    bool absent = false);

// The rows of all routes, [T·K,O], each by an expert linear of one slot with weight 1 and shared output 0;
// zero where the route has no expert.
Tensor rows_by_expert_linear(const Layer& layer, const Routes& routes);

IndexedInputs indexed_inputs(const Layer& layer, const AlignedRoutes& routes);

std::vector<std::uint8_t> bytes_of(const Tensor& tensor);
// "" or the error's message.
std::string message_of(const Status& status);

}  // namespace moe4::test
