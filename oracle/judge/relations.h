// VER-19: changes of a case that must not change a bit of its outputs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "oracle/case/case_data.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {

struct Related {
  std::string_view name;           // "permute_tokens"
  CaseData data;                   // a valid case
  std::vector<std::int64_t> twin;  // for each row of its output the row of the first case's, or -1: none
};

// permute_tokens, permute_experts, split_batch, block_m, capacity, padding, expected_m: those that the case
// has room for and the declaration accepts. block_m, capacity and expected_m need the case's line. Cases with
// more than 64 MiB of weights have none that touch weights.
std::vector<Related> related_cases(const CaseData& data, const Declaration& declaration);

}  // namespace moe4::oracle
