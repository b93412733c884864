// Result files (docs/spec/case_file.md, FILE-18, FILE-19).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "oracle/case/case_data.h"

namespace moe4::oracle {

struct ResultFile {
  Tensor output;
  // A row each: 1 where the row was written. Absent: the writer does not say.
  std::optional<std::vector<std::uint8_t>> written;
  std::vector<bool> unwritten;        // an element each, from a `written` of the output's shape; else empty
  bool inputs_changed = false;        // moe4.inputs_changed
  std::string produced_by;            // moe4.produced_by; may be empty
  std::optional<Case> line;           // moe4.case: of which case this is the result
  std::optional<std::string> policy;  // moe4.policy
};

Result<ResultFile> read_result(const std::filesystem::path& path);
Status write_result(const std::filesystem::path& path, const ResultFile& result);

// FILE-19: the result is that of this case, as far as the file says which it is.
Status check_recorded_case(const CaseData& data, const ResultFile& result);

}  // namespace moe4::oracle
