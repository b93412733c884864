// The weight tensors of a case (DATA-5, DATA-9, DATA-11).
#pragma once

#include <vector>

#include "oracle/case/case_data.h"
#include "oracle/generate/fill_data.h"
#include "oracle/generate/support.h"

namespace moe4::oracle {

// Sets packed_weights and scale_bytes or scales of the case's experts. experts: the local ids that are used,
// ascending; all others stay untouched zeros, or are NaN under routing=poison.
void write_weights(const Case& c, const FillData& fill, const Support& support,
                   const std::vector<std::int64_t>& experts, CaseData& data);

}  // namespace moe4::oracle
