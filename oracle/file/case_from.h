// Case and result files once their bytes are apart: what fuzzing drives, and read_case and read_result call.
#pragma once

#include "oracle/file/case_file.h"
#include "oracle/file/result_file.h"
#include "oracle/file/safetensors.h"

namespace moe4::oracle {

// policies: assignments ("ids=absent") over the file's own policy.
Result<CaseData> case_from(SafeTensors file, const std::vector<std::string>& policies = {});
Result<ResultFile> result_from(SafeTensors file);

}  // namespace moe4::oracle
