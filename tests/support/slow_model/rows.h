// The slow model of indexed, grouped_contiguous and grouped_masked (RTE-1 to RTE-12), in both weight formats:
// which row is what is read off the routing tensors, then each row is one sum and one rounding.
//
// Each step is a virtual function, so that a test can plant one wrong step and see it found.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/slow_model/layer_model.h"

namespace slow_model {

enum class RowsOp { kIndexed, kGroupedContiguous, kGroupedMasked };

struct RowsProblem : Layer {
  RowsOp op = RowsOp::kIndexed;
  std::int64_t token_rows = 0;               // M, m or E*max_m
  std::vector<std::uint64_t> latent_tokens;  // BF16 [token_rows, 32 G]

  // indexed
  std::vector<std::int32_t> sorted_ids;  // [capacity]
  std::vector<std::int32_t> expert_ids;  // [blocks]
  std::int32_t num_tokens_padded = 0;
  bool count_has_an_axis = false;  // num_tokens_padded is [1], else []
  std::int64_t top_k = 1;
  std::int64_t block_m = 1;
  std::int64_t valid_shape_m = 0;

  // grouped_contiguous
  std::vector<std::int32_t> m_indices;  // [m]

  // grouped_masked
  std::vector<std::int32_t> masked_m;  // [E]
  std::int64_t max_m = 0;
  std::int64_t expected_m = 1;
  bool flat_tokens = false;  // [E*max_m, I], else [E, max_m, I]
  bool flat_output = false;

  // Rows of the output.
  std::int64_t rows() const { return op == RowsOp::kIndexed ? token_rows * top_k : token_rows; }
};

// Output row `row` is a row of `expert` for row `source` of latent_tokens.
struct RoutedRow {
  std::int64_t row;
  std::int64_t expert;
  std::int64_t source;
};

struct RowsOutcome {
  std::vector<std::uint64_t> output;  // [rows, O] BF16
  std::vector<std::uint8_t> written;  // [rows]
};

class Rows : public LayerModel {
 public:
  // `before`: what each element of the output held (RTE-3). Precondition: the problem is valid.
  RowsOutcome outputs(const RowsProblem& problem, std::uint64_t before) const;

  // In no particular order.
  std::vector<RoutedRow> routed_rows(const RowsProblem& problem) const;

 protected:
  // indexed
  virtual std::int64_t active(const RowsProblem& problem) const;
  virtual std::int64_t row_of_id(const RowsProblem& problem, std::int64_t id) const;  // -1: none
  virtual std::int64_t block_of(const RowsProblem& problem, std::int64_t position) const;
  virtual std::int64_t source_of(const RowsProblem& problem, std::int64_t id) const;
  virtual std::vector<RoutedRow> indexed(const RowsProblem& problem) const;
  // grouped_contiguous
  virtual std::int64_t expert_of_row(const RowsProblem& problem, std::int64_t row) const;  // -1: padding
  // grouped_masked
  virtual std::int64_t used_rows(const RowsProblem& problem, std::int64_t expert) const;
  virtual std::int64_t first_row(const RowsProblem& problem, std::int64_t expert) const;

  virtual std::int64_t summed_width(const RowsProblem& problem) const;
  virtual Extended row(const RowsProblem& problem, const RoutedRow& routed, std::int64_t o) const;
  virtual std::uint64_t rounded(const Extended& exact) const;
  virtual std::uint64_t left_alone(std::uint64_t before) const;
  virtual std::uint8_t written(const RowsProblem& problem, bool named) const;
};

}  // namespace slow_model
