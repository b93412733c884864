// Case files: safetensors with moe4 metadata (docs/spec/case_file.md).
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "oracle/case/case_data.h"
#include "oracle/file/result_file.h"

namespace moe4::oracle {

// policies: assignments ("ids=absent") over the file's own policy; the case is checked under what results.
Result<CaseData> read_case(const std::filesystem::path& path, const std::vector<std::string>& policies = {});
// moe4.profile of a case file, from its header alone; empty if it says none.
Result<std::string> recorded_profile(const std::filesystem::path& path);

std::map<std::string, std::string> case_metadata(const CaseData& data);
Status write_case(const std::filesystem::path& path, const CaseData& data);

}  // namespace moe4::oracle
