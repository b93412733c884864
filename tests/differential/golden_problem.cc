#include "tests/differential/golden_problem.h"

#include <cstring>

namespace differential {
namespace {

using moe4::Dtype;
using moe4::Tensor;
using moe4::oracle::CaseData;
using moe4::oracle::Op;

slow_model::FloatFormat slow_format(Dtype dtype) {
  for (const slow_model::FloatFormat& format : slow_model::kFloatFormats) {
    if (moe4::name_of(dtype) == format.name) return format;
  }
  return {};
}

slow_model::FloatTensor floats(const Tensor& tensor) {
  return {slow_format(tensor.dtype()), encodings_of(tensor)};
}

template <class T>
std::vector<T> integers(const Tensor& tensor) {
  std::vector<T> values;
  for (const std::uint64_t bits : encodings_of(tensor)) {
    values.push_back(tensor.dtype() == Dtype::kI32 ? static_cast<T>(static_cast<std::int32_t>(bits))
                                                   : static_cast<T>(static_cast<std::int64_t>(bits)));
  }
  return values;
}

slow_model::Policy policy_of(const moe4::Policy& policy) {
  slow_model::Policy same;
  same.scale_nan = static_cast<slow_model::ScaleNan>(policy.scale_nan);
  same.scale_zero = static_cast<slow_model::ScaleZero>(policy.scale_zero);
  same.ids = static_cast<slow_model::Ids>(policy.ids);
  same.skip_zero_p = static_cast<slow_model::SkipZeroP>(policy.skip_zero_p);
  return same;
}

void set_layer(const CaseData& data, slow_model::Layer& layer) {
  const bool int4 = data.weights == moe4::WeightFormat::kInt4;
  layer.experts = data.packed_weights.dim(0);
  layer.out = data.packed_weights.dim(1);
  layer.groups = int4 ? data.packed_weights.dim(2) / 4 : data.packed_weights.dim(2);
  layer.policy = policy_of(data.policy);
  layer.weights = int4 ? slow_model::WeightFormat::kInt4 : slow_model::WeightFormat::kMxfp4;
  for (const std::uint64_t bits : encodings_of(data.packed_weights)) {
    if (int4) {
      layer.packed_words.push_back(static_cast<std::uint32_t>(bits));
    } else {
      layer.packed_weights.push_back(static_cast<std::uint8_t>(bits));
    }
  }
  for (const std::uint64_t bits : encodings_of(data.scale_tensor())) {
    if (int4) {
      layer.scales.push_back(static_cast<std::uint16_t>(bits));
    } else {
      layer.scale_bytes.push_back(static_cast<std::uint8_t>(bits));
    }
  }
}

}  // namespace

std::vector<std::uint64_t> encodings_of(const Tensor& tensor) {
  std::vector<std::uint64_t> all;
  const std::size_t size = moe4::size_of(tensor.dtype());
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.data() + static_cast<std::size_t>(n) * size, size);
    all.push_back(bits);
  }
  return all;
}

slow_model::Problem linear_problem(const CaseData& data) {
  slow_model::Problem problem;
  set_layer(data, problem);
  problem.tokens = data.latent_tokens.dim(0);
  problem.top_k = data.selected_experts.dim(1);
  problem.latent_tokens = floats(data.latent_tokens);
  problem.wide_ids = data.selected_experts.dtype() == Dtype::kI64;
  problem.selected_experts = integers<std::int64_t>(data.selected_experts);
  problem.mixture_weights = floats(data.mixture_weights);
  problem.shared_output = floats(data.shared_output);
  return problem;
}

slow_model::RowsProblem rows_problem(const CaseData& data) {
  slow_model::RowsProblem problem;
  set_layer(data, problem);
  problem.latent_tokens = encodings_of(data.latent_tokens);
  const moe4::Shape& shape = data.latent_tokens.shape();
  problem.token_rows = shape.size() == 3 ? shape[0] * shape[1] : shape[0];
  if (data.op == Op::kIndexed) {
    problem.op = slow_model::RowsOp::kIndexed;
    problem.sorted_ids = integers<std::int32_t>(data.sorted_ids);
    problem.expert_ids = integers<std::int32_t>(data.expert_ids);
    problem.num_tokens_padded = integers<std::int32_t>(data.num_tokens_padded).at(0);
    problem.top_k = data.top_k;
    problem.block_m = data.block_m;
  } else if (data.op == Op::kGroupedContiguous) {
    problem.op = slow_model::RowsOp::kGroupedContiguous;
    problem.m_indices = integers<std::int32_t>(data.m_indices);
  } else {
    problem.op = slow_model::RowsOp::kGroupedMasked;
    problem.masked_m = integers<std::int32_t>(data.masked_m);
    problem.max_m = problem.experts == 0 ? 0 : problem.token_rows / problem.experts;
    problem.expected_m = data.expected_m;
  }
  return problem;
}

slow_model::CombineProblem combine_problem(const CaseData& data) {
  slow_model::CombineProblem problem;
  problem.tokens = data.mixture_weights.dim(0);
  problem.top_k = data.mixture_weights.dim(1);
  problem.out = data.rows.dim(1);
  problem.rows = encodings_of(data.rows);
  problem.mixture_weights = floats(data.mixture_weights);
  if (data.has_selected_experts) problem.selected_experts = integers<std::int64_t>(data.selected_experts);
  problem.shared_output = floats(data.shared_output);
  problem.output_format = slow_format(data.output_dtype);
  problem.policy = policy_of(data.policy);
  return problem;
}

}  // namespace differential
