// FILE-14 … FILE-18: which tensors and which metadata make a case or a result.
#include "oracle/file/case_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "oracle/file/case_from.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle {
namespace {

constexpr const char* kVersion = "1";

struct Field {
  const char* name;
  Tensor CaseData::*member;
};
constexpr std::array<Field, 6> kFields = {{{"latent_tokens", &CaseData::latent_tokens},
                                           {"packed_weights", &CaseData::packed_weights},
                                           {"scale_bytes", &CaseData::scale_bytes},
                                           {"selected_experts", &CaseData::selected_experts},
                                           {"mixture_weights", &CaseData::mixture_weights},
                                           {"shared_output", &CaseData::shared_output}}};

using Metadata = std::map<std::string, std::string>;

std::string value_or(const Metadata& metadata, const std::string& key, std::string fallback) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::move(fallback) : found->second;
}

// FILE-15: the keys that begin with moe4. are ours, the others are anybody's.
Status check_keys(const Metadata& metadata, std::initializer_list<const char*> known) {
  for (const auto& [key, value] : metadata) {
    if (key.rfind("moe4.", 0) != 0) continue;
    const bool ours =
        std::any_of(known.begin(), known.end(), [&key = key](const char* name) { return key == name; });
    if (!ours)
      return Error{key, value, fmt::format("FILE-15: no such metadata; known: {}", fmt::join(known, " "))};
  }
  return {};
}

Status require(const Metadata& metadata, const char* key, const std::string& due) {
  const auto found = metadata.find(key);
  if (found != metadata.end() && found->second == due) return {};
  return Error{key, found == metadata.end() ? "(absent)" : found->second,
               fmt::format("FILE-14: {} is \"{}\"", key, due)};
}

// FILE-17: a case line and the tensors beside it say the same.
Status check_line(const Case& line, const CaseData& data, const Policy& of_file) {
  const auto disagree = [](const char* key, std::string value) -> Status {
    return Error{"moe4.case", std::move(value), fmt::format("FILE-17: {} disagrees with the tensors", key)};
  };
  const std::array<std::tuple<const char*, std::int64_t, std::int64_t>, 5> dims = {
      {{"tokens", line.tokens, data.latent_tokens.dim(0)},
       {"experts", line.experts, data.packed_weights.dim(0)},
       {"top_k", line.top_k, data.selected_experts.dim(1)},
       {"in", line.in, data.latent_tokens.dim(1)},
       {"out", line.out, data.packed_weights.dim(1)}}};
  for (const auto& [key, said, is] : dims) {
    if (said != is) return disagree(key, std::to_string(said));
  }
  const std::array<std::tuple<const char*, Dtype, Dtype>, 4> dtypes = {
      {{"dtype", line.dtype, data.latent_tokens.dtype()},
       {"mixture", line.mixture_dtype(), data.mixture_weights.dtype()},
       {"shared", line.shared_dtype(), data.shared_output.dtype()},
       {"ids_dtype", line.ids_dtype, data.selected_experts.dtype()}}};
  for (const auto& [key, said, is] : dtypes) {
    if (said != is) return disagree(key, std::string(name_of(said)));
  }
  if (line.policy == of_file) return {};
  return Error{"moe4.policy", moe4::to_string(of_file), "FILE-17: the policy disagrees with moe4.case"};
}

Status read_metadata(const Metadata& metadata, CaseData& data) {
  if (Status status = require(metadata, "moe4.version", kVersion)) return status;
  if (Status status = require(metadata, "moe4.op", "expert_linear")) return status;
  if (Status status = require(metadata, "moe4.weights", "mxfp4")) return status;
  if (Status status = check_keys(metadata, {"moe4.version", "moe4.op", "moe4.weights", "moe4.case",
                                            "moe4.policy", "moe4.profile", "moe4.checkpoint"})) {
    return status;
  }
  data.checkpoint = value_or(metadata, "moe4.checkpoint", "");
  Result<Policy> policy = parse_policy(value_or(metadata, "moe4.policy", ""));
  if (!policy) return policy.error();
  data.policy = *policy;
  const auto line = metadata.find("moe4.case");
  if (line == metadata.end()) return {};
  Result<Case> parsed = parse_case(line->second);
  if (!parsed) return Error{"moe4.case: " + parsed.error().field, parsed.error().value, parsed.error().rule};
  data.line = std::move(*parsed);
  return {};
}

// FILE-16: these tensors, no others.
Status take_tensors(std::map<std::string, Tensor>& tensors, CaseData& data) {
  for (const Field& field : kFields) {
    const auto found = tensors.find(field.name);
    if (found == tensors.end()) return Error{field.name, "(absent)", "FILE-16: a case has this tensor"};
    data.*field.member = std::move(found->second);
    tensors.erase(found);
  }
  if (tensors.empty()) return {};
  return Error{tensors.begin()->first, moe4::to_string(tensors.begin()->second.shape()),
               "FILE-16: no such tensor in a case"};
}

}  // namespace

Result<CaseData> read_case(const std::filesystem::path& path, const std::vector<std::string>& policies) {
  Result<SafeTensors> file = read_safetensors(path);
  if (!file) return file.error();
  return case_from(std::move(*file), policies);
}

Result<CaseData> case_from(SafeTensors file, const std::vector<std::string>& policies) {
  CaseData data;
  if (Status status = read_metadata(file.metadata, data)) return *status;
  const Policy of_file = data.policy;
  for (const std::string& assignment : policies) {
    if (Status status = set_policy(data.policy, assignment)) return *status;
  }
  if (Status status = take_tensors(file.tensors, data)) return *status;
  if (auto dims = validate_mxfp4_expert_linear(data.inputs(), data.policy); !dims) return dims.error();
  if (!data.line) return data;
  if (Status status = check_line(*data.line, data, of_file)) return *status;
  if (data.line->fill == Fill::kExact8) data.proof = prove_exact(data, 8);
  if (data.line->fill == Fill::kExact24) data.proof = prove_exact(data, 24);
  return data;
}

Status write_case(const std::filesystem::path& path, const CaseData& data) {
  std::map<std::string, const Tensor*> tensors;
  for (const Field& field : kFields) tensors[field.name] = &(data.*field.member);
  Metadata metadata = {{"moe4.version", kVersion}, {"moe4.op", "expert_linear"}, {"moe4.weights", "mxfp4"}};
  if (data.line) metadata["moe4.case"] = to_string(*data.line);
  if (!data.checkpoint.empty()) metadata["moe4.checkpoint"] = data.checkpoint;
  const std::string policy = moe4::to_string(data.policy);
  if (!policy.empty()) metadata["moe4.policy"] = policy;
  return write_safetensors(path, tensors, metadata);
}

Result<ResultFile> read_result(const std::filesystem::path& path) {
  Result<SafeTensors> file = read_safetensors(path);
  if (!file) return file.error();
  return result_from(std::move(*file));
}

Result<ResultFile> result_from(SafeTensors file) {
  if (Status status =
          check_keys(file.metadata, {"moe4.version", "moe4.case", "moe4.policy", "moe4.produced_by"})) {
    return *status;
  }
  if (file.metadata.count("moe4.version") != 0) {
    if (Status status = require(file.metadata, "moe4.version", kVersion)) return *status;
  }
  const auto found = file.tensors.find("output");
  if (found == file.tensors.end()) return Error{"output", "(absent)", "FILE-18: a result has this tensor"};
  for (const auto& [name, tensor] : file.tensors) {
    if (name != "output")
      return Error{name, moe4::to_string(tensor.shape()), "FILE-18: no such tensor in a result"};
  }
  ResultFile result{std::move(found->second), value_or(file.metadata, "moe4.produced_by", "")};
  if (!is_float(result.output.dtype())) {
    return Error{"output", std::string(name_of(result.output.dtype())),
                 "FILE-18: dtype is one of BF16 F16 F32 F64"};
  }
  if (result.output.shape().size() != 2) {
    return Error{"output", moe4::to_string(result.output.shape()), "FILE-18: the output is [T,O]"};
  }
  return result;
}

Status write_result(const std::filesystem::path& path, const ResultFile& result) {
  Metadata metadata = {{"moe4.version", kVersion}};
  if (!result.produced_by.empty()) metadata["moe4.produced_by"] = result.produced_by;
  return write_safetensors(path, {{"output", &result.output}}, metadata);
}

}  // namespace moe4::oracle
