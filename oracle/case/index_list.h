// Lists of indices in a case line: "0-3+7" is 0, 1, 2, 3, 7 (CASE-4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/status.h"

namespace moe4::oracle {

// A list holds at most this many indices, so that a short text can't ask for a long vector.
inline constexpr std::int64_t kMaxListLength = std::int64_t{1} << 20;

// Sorted, without repeats. The error's field is `key`.
Result<std::vector<std::int64_t>> parse_index_list(std::string_view key, std::string_view text);

// Precondition: ascending. Runs of two or more are written as a range.
std::string to_string_index_list(const std::vector<std::int64_t>& list);

// A whole number of decimal digits, at most 2^62; nullopt otherwise (CASE-3).
std::optional<std::int64_t> parse_whole_number(std::string_view text);

}  // namespace moe4::oracle
