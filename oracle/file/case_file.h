// Case and result files: safetensors with moe4 metadata (docs/spec/case_file.md).
#pragma once

#include <filesystem>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

struct ResultFile {
  Tensor output;
  std::string produced_by;  // moe4.produced_by; may be empty
};

// policies: assignments ("ids=absent") over the file's own policy; the case is checked under what results.
Result<CaseData> read_case(const std::filesystem::path& path, const std::vector<std::string>& policies = {});
Status write_case(const std::filesystem::path& path, const CaseData& data);
Result<ResultFile> read_result(const std::filesystem::path& path);
Status write_result(const std::filesystem::path& path, const ResultFile& result);

}  // namespace moe4::oracle
