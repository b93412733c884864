// The selected experts of a case: DATA-7 … DATA-10, DATA-42.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case.h"

namespace moe4::oracle {

// [T,K] row-major, global ids; -1 is a slot without expert (ids=absent, routing=minus_one). Precondition:
// validate_case(c) is empty.
std::vector<std::int64_t> selected_experts(const Case& c);

// DATA-42: the same as the rank of `ep` sees them, by its own ids; -1: another rank's.
std::vector<std::int64_t> local_ids(const Case& c, std::vector<std::int64_t> ids);

// Which experts some slot selects, ascending and without repeats.
std::vector<std::int64_t> used_experts(const std::vector<std::int64_t>& ids);

}  // namespace moe4::oracle
