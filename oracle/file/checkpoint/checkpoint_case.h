// A case whose weights are a checkpoint's and whose everything else is drawn (CKP-12 … CKP-16).
#pragma once

#include <string_view>

#include "oracle/case/case_data.h"
#include "oracle/file/checkpoint/checkpoint.h"

namespace moe4::oracle {

// The line, completed by what the checkpoint says: weights, experts, in, out. An Error if it contradicts the
// checkpoint or asks for something that only drawn weights have.
Result<Case> checkpoint_line(const Checkpoint& checkpoint, std::string_view line);

// Reads the experts that the line's routing selects.
Result<CaseData> checkpoint_case(Checkpoint& checkpoint, const Case& line);

}  // namespace moe4::oracle
