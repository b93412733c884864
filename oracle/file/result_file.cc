#include "oracle/file/result_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "oracle/file/case_from.h"
#include "oracle/file/case_tensors.h"

namespace moe4::oracle {
namespace {

constexpr const char* kVersion = "1";
constexpr const char* kChanged = "moe4.inputs_changed";

Status take_written(const Tensor& tensor, ResultFile& result) {
  const Shape& output = result.output.shape();
  std::int64_t rows = output[0];
  if (output.size() == 3) rows *= output[1];
  const bool of_rows = tensor.shape() == Shape{rows};
  if (tensor.dtype() != Dtype::kU8 || !(of_rows || tensor.shape() == output)) {
    return Error{
        "written", fmt::format("{} {}", name_of(tensor.dtype()), moe4::to_string(tensor.shape())),
        fmt::format("FILE-18: written is U8 [{}], one a row of the output, or of the output's shape", rows)};
  }
  const std::span<const std::uint8_t> flags = tensor.as<std::uint8_t>();
  const auto odd = std::find_if(flags.begin(), flags.end(), [](std::uint8_t flag) { return flag > 1; });
  if (odd != flags.end()) {
    return Error{"written", std::to_string(*odd), "FILE-18: written is 0 or 1"};
  }
  if (of_rows) {
    result.written.emplace(flags.begin(), flags.end());
  } else {
    for (const std::uint8_t flag : flags) result.unwritten.push_back(flag == 0);
  }
  return {};
}

Status read_metadata(const Metadata& metadata, ResultFile& result) {
  if (Status status = check_metadata_keys(
          metadata, {"moe4.version", "moe4.case", "moe4.policy", "moe4.produced_by", kChanged})) {
    return status;
  }
  if (metadata.count("moe4.version") != 0) {
    if (Status status = require_metadata(metadata, "moe4.version", kVersion)) return status;
  }
  if (const auto changed = metadata.find(kChanged); changed != metadata.end()) {
    if (Status status = require_metadata(metadata, kChanged, "yes")) return status;
    result.inputs_changed = true;
  }
  result.produced_by = value_or(metadata, "moe4.produced_by", "");
  if (const auto policy = metadata.find("moe4.policy"); policy != metadata.end()) {
    Result<Policy> parsed = parse_policy(policy->second);
    if (!parsed) return parsed.error();
    result.policy = moe4::to_string(*parsed);
  }
  if (const auto line = metadata.find("moe4.case"); line != metadata.end()) {
    Result<Case> parsed = parse_case(line->second);
    if (!parsed)
      return Error{"moe4.case: " + parsed.error().field, parsed.error().value, parsed.error().rule};
    result.line = std::move(*parsed);
  }
  return {};
}

}  // namespace

Result<ResultFile> read_result(const std::filesystem::path& path) {
  Result<SafeTensors> file = read_safetensors(path);
  if (!file) return file.error();
  return result_from(std::move(*file));
}

Result<ResultFile> result_from(SafeTensors file) {
  ResultFile result;
  if (Status status = read_metadata(file.metadata, result)) return *status;
  const auto found = file.tensors.find("output");
  if (found == file.tensors.end()) return Error{"output", "(absent)", "FILE-18: a result has this tensor"};
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "output" || name == "written") continue;
    return Error{name, moe4::to_string(tensor.shape()), "FILE-18: no such tensor in a result"};
  }
  result.output = std::move(found->second);
  if (!is_float(result.output.dtype())) {
    return Error{"output", std::string(name_of(result.output.dtype())),
                 "FILE-18: dtype is one of BF16 F16 F32 F64"};
  }
  const std::size_t rank = result.output.shape().size();
  if (rank != 2 && rank != 3) {
    return Error{"output", moe4::to_string(result.output.shape()),
                 "FILE-18: the output is [rows,O], or [E,max_m,O]"};
  }
  const auto written = file.tensors.find("written");
  if (written == file.tensors.end()) return result;
  if (Status status = take_written(written->second, result)) return *status;
  return result;
}

Status write_result(const std::filesystem::path& path, const ResultFile& result) {
  Metadata metadata = {{"moe4.version", kVersion}};
  if (!result.produced_by.empty()) metadata["moe4.produced_by"] = result.produced_by;
  if (result.line) metadata["moe4.case"] = to_string(*result.line);
  if (result.policy) metadata["moe4.policy"] = *result.policy;
  if (result.inputs_changed) metadata[kChanged] = "yes";
  std::map<std::string, const Tensor*> tensors = {{"output", &result.output}};
  Tensor written;
  if (result.written) {
    written = Tensor(Dtype::kU8, {static_cast<std::int64_t>(result.written->size())});
    std::copy(result.written->begin(), result.written->end(), written.as<std::uint8_t>().begin());
    tensors["written"] = &written;
  } else if (!result.unwritten.empty()) {
    written = Tensor(Dtype::kU8, result.output.shape());
    for (std::size_t n = 0; n < result.unwritten.size(); ++n)
      written.as<std::uint8_t>()[n] = !result.unwritten[n];
    tensors["written"] = &written;
  }
  return write_safetensors(path, tensors, metadata);
}

Status check_recorded_case(const CaseData& data, const ResultFile& result) {
  if (result.line && data.line && !(*result.line == *data.line)) {
    return Error{"moe4.case", to_string(*result.line),
                 "FILE-19: the result of another case; this one is " + to_string(*data.line)};
  }
  const std::string policy = moe4::to_string(data.policy);
  if (result.policy && *result.policy != policy) {
    return Error{"moe4.policy", *result.policy,
                 "FILE-19: computed under other policies; here they are \"" + policy + "\""};
  }
  return {};
}

}  // namespace moe4::oracle
