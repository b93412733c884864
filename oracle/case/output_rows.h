// What each row of a case's output is made of, whatever the operation.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case_data.h"
#include "reference/routing/slots.h"

namespace moe4::oracle {

// One row that the norm gives a value: Σ over slots of p · (row of the slot's expert for the activations),
// plus a row of shared_output in expert_linear and combine.
struct OutputRow {
  std::int64_t row = 0;     // of the output, seen as [rows, O]
  std::int64_t source = 0;  // row of latent_tokens, seen as [rows, I]; combine: none
  // Rows of one expert have one slot with p = 1. combine: the row of slot j is row·K + j, the expert is an id
  // without meaning.
  std::vector<Slot> slots;
};

struct OutputShape {
  Shape shape;
  Shape flat;  // the same memory; equal to shape but for grouped_masked (RTE-10)
  Dtype dtype = Dtype::kBF16;
  std::int64_t rows = 0, out = 0;
};

// Precondition for all: data is valid.
OutputShape output_shape(const CaseData& data);
// Ascending; rows that the norm does not write are absent (RTE-3).
std::vector<OutputRow> output_rows(const CaseData& data);
// I of the weights; combine: 0.
std::int64_t in_of(const CaseData& data);

}  // namespace moe4::oracle
