// RTE-1 to RTE-4: what indexed, grouped_contiguous and grouped_masked have in common. Each turns its routing
// into a list of rows, and every row is computed alike.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/linear/checks.h"
#include "reference/linear/expert_weights.h"
#include "reference/policy.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

// RTE-3: written has an entry a row, 1 where the row has a value. The other rows of output are zero bytes
// that mean nothing.
struct RowsResult {
  Tensor output;
  std::vector<std::uint8_t> written;
};

// Sizes of a valid call: `rows` of the output, [.., O] seen flat.
struct RowDims {
  std::int64_t rows = 0;
  std::int64_t experts = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

// Output row `row` is a row of `expert` for latent_tokens[source]. Tokens of rank 2 are [1,m,I] here.
struct RoutedRow {
  std::int64_t row = 0;
  std::int64_t expert = 0;
  std::array<std::int64_t, 2> source{};
};

// A valid call as its rows, ascending in the routing's own order, and the activations that `source` points
// into.
struct RoutedRows {
  RowDims dims;
  TensorView tokens_by_blocks;
  std::vector<RoutedRow> rows;
};

// latent_tokens as [a,b,I], b rows a block. Precondition: rank 3, or rank 2 with a·b rows; valid strides.
TensorView by_blocks(const TensorView& latent_tokens, std::int64_t blocks, std::int64_t rows_a_block);

// RTE-16 for one call: VAL-1 to VAL-7 and VAL-9, in that order, but for what `shapes` checks (VAL-4).
struct RowCall {
  const TensorView& latent_tokens;
  const ExpertWeights& weights;
  std::vector<std::size_t> token_ranks = {2};
  std::vector<Field> routing;
  const MutableTensorView* output = nullptr;  // null: there is none yet
};
std::vector<Field> fields_of(const RowCall& call);
Status check_ranks_dtypes_width(const RowCall& call);  // VAL-1, VAL-2, VAL-3
// VAL-4 to VAL-9 for the output, VAL-6 and VAL-9 for the inputs. shapes: what the output may be, by letters.
struct NamedShape {
  std::string_view letters;
  Shape shape;
};
Status check_output_and_memory(const RowCall& call, std::span<const NamedShape> shapes);

// Computes each row into output, flat. Precondition: all valid.
void compute_rows(const RoutedRows& rows, const ExpertWeights& weights, const Policy& policy,
                  const MutableTensorView& output);

// RTE-3: which rows of the output there are.
std::vector<std::uint8_t> written_rows(const RoutedRows& rows);

}  // namespace moe4
