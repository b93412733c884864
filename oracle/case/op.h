// The operations of a case (docs/spec/linear.md, docs/spec/routing.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace moe4::oracle {

enum class Op : std::uint8_t { kExpertLinear, kIndexed, kGroupedContiguous, kGroupedMasked, kCombine };

std::string_view name_of(Op op);  // "expert_linear", ...
std::optional<Op> op_from_name(std::string_view name);
std::vector<Op> all_ops();

// Rows of one expert each, BF16 in and out, without mixture weights and shared output (RTE-1).
constexpr bool is_row_op(Op op) {
  return op == Op::kIndexed || op == Op::kGroupedContiguous || op == Op::kGroupedMasked;
}

}  // namespace moe4::oracle
