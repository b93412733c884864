// Which rule a call of indexed, grouped_contiguous, grouped_masked or combine breaks first, in the order of
// RTE-16: VAL-1 to VAL-9 over all fields, then what the routing says (RTE-7, RTE-9, RTE-12, RTE-15).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/slow_model/layer.h"
#include "tests/support/slow_model/validity.h"

namespace slow_model {

struct ContractCall {
  enum class Op { kIndexed, kGroupedContiguous, kGroupedMasked, kCombine };

  struct Field {
    std::string name;  // as in the tables of routing.md
    TensorDescription tensor;
  };

  Op op = Op::kIndexed;
  WeightFormat weights = WeightFormat::kMxfp4;
  std::vector<Field> inputs;  // in the order of the table; selected_experts of combine may be missing
  TensorDescription output;

  std::int64_t top_k = 1;  // indexed
  std::int64_t block_m = 1;
  std::int64_t valid_shape_m = 0;
  std::int64_t expected_m = 1;  // grouped_masked

  // The elements of sorted_ids, m_indices, masked_m or selected_experts, and of the other two of indexed.
  std::vector<std::int64_t> routing;
  std::vector<std::int64_t> expert_ids;
  std::int64_t num_tokens_padded = 0;
};

struct Broken {
  std::string rule;      // "" for none
  std::string field;     // for RTE rules: what is at fault; else empty
  std::int64_t at = -1;  // the position, row, expert or slot, where there is one

  friend bool operator==(const Broken&, const Broken&) = default;
};

// with_output: else the output is not looked at.
Broken first_broken(const ContractCall& call, bool with_output);

}  // namespace slow_model
