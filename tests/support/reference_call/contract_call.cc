#include "tests/support/reference_call/contract_call.h"

#include <algorithm>

#include "tests/support/reference_call/reference_call.h"

namespace reference_call {
namespace {

using slow_model::RowsOp;
using slow_model::RowsProblem;

moe4::Tensor ints(const std::vector<std::int32_t>& elements, moe4::Shape shape) {
  moe4::Tensor tensor(moe4::Dtype::kI32, std::move(shape));
  std::copy(elements.begin(), elements.end(), tensor.as<std::int32_t>().begin());
  return tensor;
}

moe4::Tensor vector_of(const std::vector<std::int32_t>& elements) {
  return ints(elements, {static_cast<std::int64_t>(elements.size())});
}

const std::vector<std::int32_t>& routing_of(const RowsProblem& problem) {
  switch (problem.op) {
    case RowsOp::kIndexed:
      return problem.sorted_ids;
    case RowsOp::kGroupedContiguous:
      return problem.m_indices;
    case RowsOp::kGroupedMasked:
      break;
  }
  return problem.masked_m;
}

moe4::Shape rows_shape(const RowsProblem& problem, bool flat, std::int64_t rows, std::int64_t width) {
  if (problem.op == RowsOp::kGroupedMasked && !flat) return {problem.experts, problem.max_m, width};
  return {rows, width};
}

template <class Call>
auto by_op(const RowsProblem& problem, const RowsTensors& in, const Call& call) {
  switch (problem.op) {
    case RowsOp::kIndexed:
      return call(in.indexed(problem));
    case RowsOp::kGroupedContiguous:
      return call(in.grouped_contiguous());
    case RowsOp::kGroupedMasked:
      break;
  }
  return call(in.grouped_masked(problem));
}

using Written = moe4::Result<std::vector<std::uint8_t>>;
using Rows = moe4::Result<moe4::RowsResult>;

Written call(const moe4::IndexedInputs& in, moe4::MutableTensorView out, const moe4::Policy& policy) {
  return moe4::indexed(in, out, policy);
}
Written call(const moe4::GroupedContiguousInputs& in, moe4::MutableTensorView out,
             const moe4::Policy& policy) {
  return moe4::grouped_contiguous(in, out, policy);
}
Written call(const moe4::GroupedMaskedInputs& in, moe4::MutableTensorView out, const moe4::Policy& policy) {
  return moe4::grouped_masked(in, out, policy);
}
Rows call(const moe4::IndexedInputs& in, const moe4::Policy& policy) { return moe4::indexed(in, policy); }
Rows call(const moe4::GroupedContiguousInputs& in, const moe4::Policy& policy) {
  return moe4::grouped_contiguous(in, policy);
}
Rows call(const moe4::GroupedMaskedInputs& in, const moe4::Policy& policy) {
  return moe4::grouped_masked(in, policy);
}

}  // namespace

RowsTensors::RowsTensors(const RowsProblem& problem)
    : latent_tokens(tensor_of({slow_model::kBf16, problem.latent_tokens},
                              rows_shape(problem, problem.flat_tokens, problem.token_rows, problem.in()))),
      packed_weights(packed_of(problem)),
      scales(scales_of(problem)),
      sorted_ids(vector_of(routing_of(problem))),
      expert_ids(vector_of(problem.expert_ids)),
      num_tokens_padded(
          ints({problem.num_tokens_padded}, problem.count_has_an_axis ? moe4::Shape{1} : moe4::Shape{})),
      weights(problem.weights == slow_model::WeightFormat::kInt4
                  ? moe4::ExpertWeights::int4(packed_weights.view(), scales.view())
                  : moe4::ExpertWeights::mxfp4(packed_weights.view(), scales.view())) {}

moe4::IndexedInputs RowsTensors::indexed(const RowsProblem& problem) const {
  return {latent_tokens.view(),     weights,       sorted_ids.view(), expert_ids.view(),
          num_tokens_padded.view(), problem.top_k, problem.block_m,   problem.valid_shape_m};
}

moe4::GroupedContiguousInputs RowsTensors::grouped_contiguous() const {
  return {latent_tokens.view(), weights, sorted_ids.view()};
}

moe4::GroupedMaskedInputs RowsTensors::grouped_masked(const RowsProblem& problem) const {
  return {latent_tokens.view(), weights, sorted_ids.view(), problem.expected_m};
}

CombineTensors::CombineTensors(const slow_model::CombineProblem& problem)
    : rows(tensor_of({slow_model::kBf16, problem.rows}, {problem.tokens * problem.top_k, problem.out})),
      mixture_weights(tensor_of(problem.mixture_weights, {problem.tokens, problem.top_k})),
      selected_experts(problem.wide_ids ? moe4::Dtype::kI64 : moe4::Dtype::kI32,
                       {problem.tokens, problem.top_k}),
      shared_output(tensor_of(problem.shared_output, {problem.tokens, problem.out})),
      has_ids(problem.selected_experts.has_value()) {
  if (!has_ids) return;
  for (std::size_t n = 0; n < problem.selected_experts->size(); ++n) {
    const std::int64_t id = (*problem.selected_experts)[n];
    if (problem.wide_ids) {
      selected_experts.as<std::int64_t>()[n] = id;
    } else {
      selected_experts.as<std::int32_t>()[n] = static_cast<std::int32_t>(id);
    }
  }
}

moe4::CombineInputs CombineTensors::inputs() const {
  moe4::CombineInputs result{rows.view(), mixture_weights.view(), {}, shared_output.view()};
  if (has_ids) result.selected_experts = selected_experts.view();
  return result;
}

moe4::Result<slow_model::RowsOutcome> rows(const RowsProblem& problem, std::uint16_t before) {
  const RowsTensors in(problem);
  moe4::Tensor output(moe4::Dtype::kBF16,
                      rows_shape(problem, problem.flat_output, problem.rows(), problem.out));
  std::fill(output.as<std::uint16_t>().begin(), output.as<std::uint16_t>().end(), before);
  const Written written = by_op(problem, in, [&](const auto& inputs) {
    return call(inputs, output.mutable_view(), policy_of(problem.policy));
  });
  if (!written.ok()) return written.error();
  return slow_model::RowsOutcome{bits_of(output), *written};
}

moe4::Result<slow_model::RowsOutcome> rows_allocated(const RowsProblem& problem) {
  const RowsTensors in(problem);
  const Rows result =
      by_op(problem, in, [&](const auto& inputs) { return call(inputs, policy_of(problem.policy)); });
  if (!result.ok()) return result.error();
  return slow_model::RowsOutcome{bits_of(result->output), result->written};
}

moe4::Result<std::vector<std::uint64_t>> combine(const slow_model::CombineProblem& problem) {
  const CombineTensors in(problem);
  moe4::Tensor output(dtype_of(problem.output_format), {problem.tokens, problem.out});
  std::fill_n(output.data(), output.bytes(), std::byte{0xA5});
  const moe4::Status status = moe4::combine(in.inputs(), output.mutable_view(), policy_of(problem.policy));
  if (status) return *status;
  return bits_of(output);
}

moe4::Result<std::vector<std::uint64_t>> combine_allocated(const slow_model::CombineProblem& problem) {
  const CombineTensors in(problem);
  const auto output = moe4::combine(in.inputs(), dtype_of(problem.output_format), policy_of(problem.policy));
  if (!output.ok()) return output.error();
  return bits_of(*output);
}

}  // namespace reference_call
