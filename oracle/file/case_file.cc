#include "oracle/file/case_file.h"

#include <algorithm>
#include <span>

#include "oracle/case/norm.h"
#include "oracle/file/case_from.h"
#include "oracle/file/case_tensors.h"
#include "oracle/file/mapped_file.h"
#include "oracle/file/safetensors.h"
#include "oracle/generate/generate.h"
#include "reference/profile/arithmetic.h"

namespace moe4::oracle {
namespace {

constexpr const char* kVersion = "1";

Status read_metadata(const Metadata& metadata, CaseData& data) {
  if (Status status = require_metadata(metadata, "moe4.version", kVersion)) return status;
  if (Status status = read_op(metadata, data)) return status;
  data.checkpoint = value_or(metadata, "moe4.checkpoint", "");
  Result<Policy> policy = parse_policy(value_or(metadata, "moe4.policy", ""));
  if (!policy) return policy.error();
  data.policy = *policy;
  if (const auto profile = metadata.find("moe4.profile"); profile != metadata.end()) {
    Result<RoundingProfile> known = parse_rounding_profile(profile->second);
    if (!known) return Error{"moe4.profile", profile->second, "FILE-14: " + known.error().rule};
  }
  const auto line = metadata.find("moe4.case");
  if (line == metadata.end()) return {};
  Result<Case> parsed = parse_case(line->second);
  if (!parsed) return Error{"moe4.case: " + parsed.error().field, parsed.error().value, parsed.error().rule};
  data.line = std::move(*parsed);
  return {};
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
  if (Status status = validate(data)) return *status;
  if (data.op != Op::kCombine) data.output_dtype = data.latent_tokens.dtype();
  if (!data.line) return data;
  if (Status status = check_line(*data.line, data, of_file)) return *status;
  if (data.line->layout) {
    if (Status status = pack_weights(data.line->weight_layout(), data)) return *status;
  }
  if (data.line->fill == Fill::kExact8) data.proof = prove_exact(data, 8);
  if (data.line->fill == Fill::kExact24) data.proof = prove_exact(data, 24);
  return data;
}

Result<std::string> recorded_profile(const std::filesystem::path& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  const std::span<const std::byte> bytes = file->bytes();
  const Result<std::uint64_t> length =
      header_length(bytes.first(std::min<std::size_t>(bytes.size(), kHeaderBegin)), bytes.size());
  if (!length) return length.error();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kHeaderBegin, *length);
  const Result<Header> header = parse_header(text, bytes.size() - kHeaderBegin - *length);
  if (!header) return header.error();
  return value_or(header->metadata, "moe4.profile", "");
}

std::map<std::string, std::string> case_metadata(const CaseData& data) {
  Metadata metadata = {{"moe4.version", kVersion}};
  write_op(data, metadata);
  if (data.line) metadata["moe4.case"] = to_string(*data.line);
  if (!data.checkpoint.empty()) metadata["moe4.checkpoint"] = data.checkpoint;
  const std::string policy = moe4::to_string(data.policy);
  if (!policy.empty()) metadata["moe4.policy"] = policy;
  return metadata;
}

Status write_case(const std::filesystem::path& path, const CaseData& data) {
  return write_safetensors(path, tensors_of(data), case_metadata(data));
}

}  // namespace moe4::oracle
