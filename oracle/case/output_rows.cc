#include "oracle/case/output_rows.h"

#include <algorithm>

namespace moe4::oracle {
namespace {

const ExactValue kOne = ExactValue::finite(false, 1, 0);

OutputRow expert_row(std::int64_t row, std::int64_t source, std::int64_t expert) {
  return {row, source, {{0, expert, kOne}}};
}

std::vector<OutputRow> mixing_rows(const Tensor& ids, const Tensor& mixture, const Policy& policy) {
  std::vector<OutputRow> rows;
  for (std::int64_t t = 0; t < mixture.dim(0); ++t) {
    rows.push_back({t, t, contributing_slots(ids.view(), mixture.view(), t, policy)});
  }
  return rows;
}

// RTE-14: the policy for -1 is given, and other ids say nothing.
std::vector<OutputRow> combine_rows(const CaseData& data) {
  Policy policy = data.policy;
  policy.ids = Ids::kAbsent;
  if (data.has_selected_experts) return mixing_rows(data.selected_experts, data.mixture_weights, policy);
  const Tensor all_present(Dtype::kI32, data.mixture_weights.shape());
  return mixing_rows(all_present, data.mixture_weights, policy);
}

std::vector<OutputRow> indexed_rows(const CaseData& data) {
  const ActiveIds active(data.indexed());
  const std::int64_t rows = data.latent_tokens.dim(0) * data.top_k;
  std::vector<OutputRow> list;
  for (std::int64_t r = 0; r < active.count; ++r) {
    const std::int64_t id = active.sorted_ids.integer({r});
    if (id >= rows) continue;
    list.push_back(expert_row(id, id / data.top_k, active.expert_ids.integer({r / data.block_m})));
  }
  std::sort(list.begin(), list.end(), [](const OutputRow& a, const OutputRow& b) { return a.row < b.row; });
  return list;
}

std::vector<OutputRow> contiguous_rows(const CaseData& data) {
  std::vector<OutputRow> list;
  const std::span<const std::int32_t> experts = data.m_indices.as<std::int32_t>();
  for (std::size_t r = 0; r < experts.size(); ++r) {
    const auto row = static_cast<std::int64_t>(r);
    if (experts[r] >= 0) list.push_back(expert_row(row, row, experts[r]));
  }
  return list;
}

std::vector<OutputRow> masked_rows(const CaseData& data) {
  std::vector<OutputRow> list;
  const std::span<const std::int32_t> counts = data.masked_m.as<std::int32_t>();
  const OutputShape shape = output_shape(data);
  const std::int64_t max_m = counts.empty() ? 0 : shape.rows / static_cast<std::int64_t>(counts.size());
  for (std::size_t e = 0; e < counts.size(); ++e) {
    const auto expert = static_cast<std::int64_t>(e);
    for (std::int64_t r = 0; r < counts[e]; ++r) {
      list.push_back(expert_row(expert * max_m + r, expert * max_m + r, expert));
    }
  }
  return list;
}

}  // namespace

OutputShape output_shape(const CaseData& data) {
  OutputShape result;
  if (data.op == Op::kCombine) {
    result.dtype = data.output_dtype;
    result.rows = data.mixture_weights.dim(0);
    result.out = data.rows.dim(1);
  } else {
    result.dtype = data.latent_tokens.dtype();
    result.out = data.packed_weights.dim(1);
    const Shape& tokens = data.latent_tokens.shape();
    result.rows = tokens.size() == 3 ? tokens[0] * tokens[1] : tokens[0];
    if (data.op == Op::kIndexed) result.rows *= data.top_k;
  }
  result.flat = {result.rows, result.out};
  result.shape = result.flat;
  if (data.op == Op::kGroupedMasked) {
    const std::int64_t experts = data.masked_m.dim(0);
    result.shape = {experts, experts == 0 ? 0 : result.rows / experts, result.out};
  }
  return result;
}

std::vector<OutputRow> output_rows(const CaseData& data) {
  switch (data.op) {
    case Op::kExpertLinear:
      return mixing_rows(data.selected_experts, data.mixture_weights, data.policy);
    case Op::kIndexed:
      return indexed_rows(data);
    case Op::kGroupedContiguous:
      return contiguous_rows(data);
    case Op::kGroupedMasked:
      return masked_rows(data);
    case Op::kCombine:
      return combine_rows(data);
  }
  return {};
}

std::int64_t in_of(const CaseData& data) {
  return data.op == Op::kCombine ? 0 : data.latent_tokens.shape().back();
}

}  // namespace moe4::oracle
