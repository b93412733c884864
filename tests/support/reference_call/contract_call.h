// The reference's serving contracts applied to problems of the slow model.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/linear/combine.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"
#include "tests/support/slow_model/combine.h"
#include "tests/support/slow_model/rows.h"

namespace reference_call {

// The tensors of a problem, owned; the inputs borrow them.
struct RowsTensors {
  moe4::Tensor latent_tokens;
  moe4::Tensor packed_weights;
  moe4::Tensor scales;
  moe4::Tensor sorted_ids;  // indexed; m_indices or masked_m for the others
  moe4::Tensor expert_ids;
  moe4::Tensor num_tokens_padded;
  moe4::ExpertWeights weights;

  explicit RowsTensors(const slow_model::RowsProblem& problem);
  RowsTensors(const RowsTensors&) = delete;
  RowsTensors& operator=(const RowsTensors&) = delete;
  moe4::IndexedInputs indexed(const slow_model::RowsProblem& problem) const;
  moe4::GroupedContiguousInputs grouped_contiguous() const;
  moe4::GroupedMaskedInputs grouped_masked(const slow_model::RowsProblem& problem) const;
};

struct CombineTensors {
  moe4::Tensor rows;
  moe4::Tensor mixture_weights;
  moe4::Tensor selected_experts;
  moe4::Tensor shared_output;
  bool has_ids;

  explicit CombineTensors(const slow_model::CombineProblem& problem);
  moe4::CombineInputs inputs() const;
};

// Into memory in which every element is `before`.
moe4::Result<slow_model::RowsOutcome> rows(const slow_model::RowsProblem& problem, std::uint16_t before);

// The function that allocates its result.
moe4::Result<slow_model::RowsOutcome> rows_allocated(const slow_model::RowsProblem& problem);

// Into memory of the caller, and into a new tensor.
moe4::Result<std::vector<std::uint64_t>> combine(const slow_model::CombineProblem& problem);
moe4::Result<std::vector<std::uint64_t>> combine_allocated(const slow_model::CombineProblem& problem);

}  // namespace reference_call
