#include "tests/support/reference_call/reference_call.h"

#include <algorithm>
#include <utility>

namespace reference_call {
namespace {

template <class To, class From>
void fill(moe4::Tensor& tensor, const std::vector<From>& elements) {
  std::transform(elements.begin(), elements.end(), tensor.as<To>().begin(),
                 [](From element) { return static_cast<To>(element); });
}

moe4::Tensor bytes(const std::vector<std::uint8_t>& elements, moe4::Shape shape) {
  moe4::Tensor tensor(moe4::Dtype::kU8, std::move(shape));
  fill<std::uint8_t>(tensor, elements);
  return tensor;
}

moe4::Tensor ids(const slow_model::Problem& problem) {
  const moe4::Dtype dtype = problem.wide_ids ? moe4::Dtype::kI64 : moe4::Dtype::kI32;
  moe4::Tensor tensor(dtype, {problem.tokens, problem.top_k});
  if (problem.wide_ids) {
    fill<std::int64_t>(tensor, problem.selected_experts);
  } else {
    fill<std::int32_t>(tensor, problem.selected_experts);
  }
  return tensor;
}

}  // namespace

moe4::Dtype dtype_of(const slow_model::FloatFormat& format) {
  if (format == slow_model::kBf16) return moe4::Dtype::kBF16;
  if (format == slow_model::kF16) return moe4::Dtype::kF16;
  if (format == slow_model::kF32) return moe4::Dtype::kF32;
  return moe4::Dtype::kF64;
}

moe4::Policy policy_of(const slow_model::Policy& policy) {
  moe4::Policy result;
  switch (policy.scale_nan) {
    case slow_model::ScaleNan::kOcp:
      result.scale_nan = moe4::ScaleNan::kOcp;
      break;
    case slow_model::ScaleNan::kFormula:
      result.scale_nan = moe4::ScaleNan::kFormula;
      break;
    case slow_model::ScaleNan::kInf:
      result.scale_nan = moe4::ScaleNan::kInf;
      break;
  }
  if (policy.scale_zero == slow_model::ScaleZero::kFlush) result.scale_zero = moe4::ScaleZero::kFlush;
  if (policy.zero == slow_model::ZeroCompare::kStrict) result.zero = moe4::ZeroCompare::kStrict;
  if (policy.ids == slow_model::Ids::kAbsent) result.ids = moe4::Ids::kAbsent;
  if (policy.skip_zero_p == slow_model::SkipZeroP::kYes) result.skip_zero_p = moe4::SkipZeroP::kYes;
  return result;
}

moe4::Tensor tensor_of(const slow_model::FloatTensor& tensor, moe4::Shape shape) {
  moe4::Tensor result(dtype_of(tensor.format), std::move(shape));
  switch (tensor.format.width()) {
    case 16:
      fill<std::uint16_t>(result, tensor.bits);
      break;
    case 32:
      fill<std::uint32_t>(result, tensor.bits);
      break;
    default:
      fill<std::uint64_t>(result, tensor.bits);
      break;
  }
  return result;
}

std::vector<std::uint64_t> bits_of(const moe4::Tensor& tensor) {
  const auto copy = [](const auto& encodings) {
    return std::vector<std::uint64_t>(encodings.begin(), encodings.end());
  };
  switch (moe4::size_of(tensor.dtype())) {
    case 2:
      return copy(tensor.as<std::uint16_t>());
    case 4:
      return copy(tensor.as<std::uint32_t>());
    default:
      return copy(tensor.as<std::uint64_t>());
  }
}

moe4::Tensor packed_of(const slow_model::Layer& layer) {
  if (layer.weights == slow_model::WeightFormat::kInt4) {
    moe4::Tensor tensor(moe4::Dtype::kI32, {layer.experts, layer.out, layer.row_words()});
    fill<std::int32_t>(tensor, layer.packed_words);
    return tensor;
  }
  return bytes(layer.packed_weights, {layer.experts, layer.out, layer.groups, 16});
}

moe4::Tensor scales_of(const slow_model::Layer& layer) {
  if (layer.weights == slow_model::WeightFormat::kInt4) {
    moe4::Tensor tensor(moe4::Dtype::kBF16, {layer.experts, layer.out, layer.groups});
    fill<std::uint16_t>(tensor, layer.scales);
    return tensor;
  }
  return bytes(layer.scale_bytes, {layer.experts, layer.out, layer.groups});
}

Tensors::Tensors(const slow_model::Problem& problem)
    : latent_tokens(tensor_of(problem.latent_tokens, {problem.tokens, problem.in()})),
      packed_weights(packed_of(problem)),
      scale_bytes(scales_of(problem)),
      selected_experts(ids(problem)),
      mixture_weights(tensor_of(problem.mixture_weights, {problem.tokens, problem.top_k})),
      shared_output(tensor_of(problem.shared_output, {problem.tokens, problem.out})) {}

moe4::ExpertLinearInputs Tensors::inputs() const {
  return {latent_tokens.view(),    packed_weights.view(),  scale_bytes.view(),
          selected_experts.view(), mixture_weights.view(), shared_output.view()};
}

moe4::LinearInputs Tensors::int4_inputs() const {
  return {latent_tokens.view(), moe4::ExpertWeights::int4(packed_weights.view(), scale_bytes.view()),
          selected_experts.view(), mixture_weights.view(), shared_output.view()};
}

moe4::Result<std::vector<std::uint64_t>> outputs(const slow_model::Problem& problem) {
  const Tensors tensors(problem);
  moe4::Tensor output(tensors.latent_tokens.dtype(), {problem.tokens, problem.out});
  std::fill_n(output.data(), output.bytes(), std::byte{0xA5});  // an element left alone would show
  const moe4::Policy policy = policy_of(problem.policy);
  const moe4::Status status =
      problem.weights == slow_model::WeightFormat::kInt4
          ? moe4::expert_linear(tensors.int4_inputs(), output.mutable_view(), policy)
          : moe4::mxfp4_expert_linear(tensors.inputs(), output.mutable_view(), policy);
  if (status) {
    return *status;
  }
  return bits_of(output);
}

}  // namespace reference_call
