#include "oracle/file/case_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "oracle/case/index_list.h"
#include "oracle/case/nearest.h"
#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

struct TensorField {
  const char* name;
  Tensor CaseData::*member;
  bool (*present)(const CaseData& data);
  bool optional = false;
};

bool has_weights(const CaseData& d) { return d.op != Op::kCombine; }
bool is_mixing(const CaseData& d) { return !is_row_op(d.op); }

// FILE-16.
constexpr std::array kTensors = {
    TensorField{"latent_tokens", &CaseData::latent_tokens, has_weights},
    TensorField{"packed_weights", &CaseData::packed_weights, has_weights},
    TensorField{"scale_bytes", &CaseData::scale_bytes,
                [](const CaseData& d) { return has_weights(d) && d.weights == WeightFormat::kMxfp4; }},
    TensorField{"scales", &CaseData::scales,
                [](const CaseData& d) { return has_weights(d) && d.weights == WeightFormat::kInt4; }},
    TensorField{"rows", &CaseData::rows, [](const CaseData& d) { return d.op == Op::kCombine; }},
    TensorField{"selected_experts", &CaseData::selected_experts,
                [](const CaseData& d) { return d.op == Op::kExpertLinear; }},
    TensorField{"selected_experts", &CaseData::selected_experts,
                [](const CaseData& d) { return d.op == Op::kCombine; }, true},
    TensorField{"mixture_weights", &CaseData::mixture_weights, is_mixing},
    TensorField{"shared_output", &CaseData::shared_output, is_mixing},
    TensorField{"sorted_ids", &CaseData::sorted_ids, [](const CaseData& d) { return d.op == Op::kIndexed; }},
    TensorField{"expert_ids", &CaseData::expert_ids, [](const CaseData& d) { return d.op == Op::kIndexed; }},
    TensorField{"num_tokens_padded", &CaseData::num_tokens_padded,
                [](const CaseData& d) { return d.op == Op::kIndexed; }},
    TensorField{"m_indices", &CaseData::m_indices,
                [](const CaseData& d) { return d.op == Op::kGroupedContiguous; }},
    TensorField{"masked_m", &CaseData::masked_m,
                [](const CaseData& d) { return d.op == Op::kGroupedMasked; }},
};

struct NumberField {
  const char* key;
  Op op;
  std::int64_t CaseData::*member;
  bool required;
};
constexpr std::array kNumbers = {
    NumberField{"moe4.top_k", Op::kIndexed, &CaseData::top_k, true},
    NumberField{"moe4.block_m", Op::kIndexed, &CaseData::block_m, true},
    NumberField{"moe4.expected_m", Op::kGroupedMasked, &CaseData::expected_m, false},
};

constexpr const char* kOp = "moe4.op";
constexpr const char* kWeights = "moe4.weights";
constexpr const char* kDtype = "moe4.dtype";  // combine: of the output, which no tensor shows

std::vector<std::string> keys_of(Op op) {
  std::vector<std::string> keys = {
      "moe4.version", kOp, kWeights, "moe4.case", "moe4.policy", "moe4.profile", "moe4.checkpoint"};
  for (const NumberField& number : kNumbers) {
    if (number.op == op) keys.emplace_back(number.key);
  }
  if (op == Op::kCombine) keys.emplace_back(kDtype);
  return keys;
}

Error no_such_word(const char* key, const Metadata& metadata, const std::vector<std::string>& known) {
  const std::string value = value_or(metadata, key, "(absent)");
  return {key, value,
          fmt::format("FILE-14: one of {}; the nearest is {}", fmt::join(known, " "),
                      nearest_name(value, known))};
}

}  // namespace

std::string value_or(const Metadata& metadata, const std::string& key, std::string fallback) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::move(fallback) : found->second;
}

Status check_metadata_keys(const Metadata& metadata, const std::vector<std::string>& known) {
  for (const auto& [key, value] : metadata) {
    if (key.rfind("moe4.", 0) != 0 || std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Error{key, value, fmt::format("FILE-15: no such metadata; known: {}", fmt::join(known, " "))};
  }
  return {};
}

Status require_metadata(const Metadata& metadata, const std::string& key, const std::string& due) {
  const auto found = metadata.find(key);
  if (found != metadata.end() && found->second == due) return {};
  return Error{key, found == metadata.end() ? "(absent)" : found->second,
               fmt::format("FILE-14: {} is \"{}\"", key, due)};
}

Status read_op(const Metadata& metadata, CaseData& data) {
  const std::optional<Op> op = op_from_name(value_or(metadata, kOp, ""));
  if (!op) return no_such_word(kOp, metadata, op_words());
  data.op = *op;
  // Rows to be combined have no weights; what they were made of may be said all the same.
  const std::string fallback = *op == Op::kCombine ? "mxfp4" : "";
  const std::optional<WeightFormat> weights = weight_format_from_name(value_or(metadata, kWeights, fallback));
  if (!weights) return no_such_word(kWeights, metadata, weight_words());
  data.weights = *weights;
  if (Status status = check_metadata_keys(metadata, keys_of(*op))) return status;
  for (const NumberField& field : kNumbers) {
    const auto found = metadata.find(field.key);
    if (field.op != *op || (found == metadata.end() && !field.required)) continue;
    const auto number =
        found == metadata.end() || found->second.empty() ? std::nullopt : parse_whole_number(found->second);
    if (!number) {
      return Error{field.key, value_or(metadata, field.key, "(absent)"),
                   fmt::format("FILE-14: op={} has this key, a whole number", name_of(*op))};
    }
    data.*field.member = *number;
  }
  if (*op == Op::kCombine) {
    const auto dtype = dtype_from_word(value_or(metadata, kDtype, "bf16"));
    if (!dtype || !is_float(*dtype)) return no_such_word(kDtype, metadata, float_words());
    data.output_dtype = *dtype;
  }
  return {};
}

void write_op(const CaseData& data, Metadata& metadata) {
  metadata[kOp] = name_of(data.op);
  metadata[kWeights] = moe4::name_of(data.weights);
  for (const NumberField& field : kNumbers) {
    if (field.op == data.op) metadata[field.key] = std::to_string(data.*field.member);
  }
  if (data.op == Op::kCombine) metadata[kDtype] = dtype_word(data.output_dtype);
}

Status take_tensors(std::map<std::string, Tensor>& tensors, CaseData& data) {
  for (const TensorField& field : kTensors) {
    if (!field.present(data)) continue;
    const auto found = tensors.find(field.name);
    if (found == tensors.end() && field.optional) {
      data.has_selected_experts = false;
      continue;
    }
    if (found == tensors.end()) {
      return Error{field.name, "(absent)",
                   fmt::format("FILE-16: a case of op={} has this tensor", name_of(data.op))};
    }
    data.*field.member = std::move(found->second);
    tensors.erase(found);
  }
  if (tensors.empty()) return {};
  return Error{tensors.begin()->first, moe4::to_string(tensors.begin()->second.shape()),
               fmt::format("FILE-16: no such tensor in a case of op={} weights={}", name_of(data.op),
                           moe4::name_of(data.weights))};
}

std::map<std::string, const Tensor*> tensors_of(const CaseData& data) {
  std::map<std::string, const Tensor*> tensors;
  for (const TensorField& field : kTensors) {
    if (!field.present(data) || (field.optional && !data.has_selected_experts)) continue;
    tensors[field.name] = &(data.*field.member);
  }
  return tensors;
}

}  // namespace moe4::oracle
