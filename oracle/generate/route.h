// The selected experts of a case: DATA-7 … DATA-10.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle {

// [T,K] row-major; -1 is an absent slot (only under ids=absent). Precondition: validate_case(c) is empty.
std::vector<std::int64_t> selected_experts(const Case& c);

// Which experts some slot selects, ascending and without repeats.
std::vector<std::int64_t> used_experts(const std::vector<std::int64_t>& ids);

}  // namespace moe4::oracle
