// Mixture weights of `combine` that lay the roundings of the sum bare in column 0 (DATA-51).
#pragma once

#include "oracle/generate/generate.h"

namespace moe4::oracle {

// Rewrites mixture_weights; rows, selected_experts and shared_output are read.
void lay_roundings_bare(CaseData& data);

}  // namespace moe4::oracle
