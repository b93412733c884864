// op=combine: the rows of a token's slots, weighted and added to the shared output (docs/spec/routing.md).
//
//   rows              BF16              [T·K,O]   row t·K + j is slot j of token t
//   mixture_weights   BF16|F16|F32|F64  [T,K]
//   selected_experts  I32|I64           [T,K]     optional; -1: the slot is absent
//   shared_output     BF16|F16|F32|F64  [T,O]
//   output            BF16|F16|F32|F64  [T,O]
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/formats/elements.h"
#include "reference/linear/exact_output.h"
#include "reference/policy.h"
#include "reference/routing/slots.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

struct CombineInputs {
  TensorView rows;
  TensorView mixture_weights;
  std::optional<TensorView> selected_experts;
  TensorView shared_output;
};

struct CombineDims {
  std::int64_t tokens = 0;
  std::int64_t top_k = 0;
  std::int64_t out = 0;
};

// RTE-16 and RTE-15 without the output, or with one.
Result<CombineDims> validate_combine(const CombineInputs& inputs, const MutableTensorView* output = nullptr);

// The slots of token t that are terms (RTE-14); slot j weighs row t·K + j. Precondition: valid inputs.
std::vector<Slot> combine_slots(const CombineInputs& inputs, std::int64_t t, const Policy& policy);

// What is rounded to y[t,o] (RTE-13). slots: combine_slots of t. Precondition: valid inputs.
class CombineTerms {
 public:
  explicit CombineTerms(const CombineInputs& inputs)
      : rows(inputs.rows), shared(inputs.shared_output), top_k(inputs.mixture_weights.dim(1)) {}
  ExactOutput output(const std::vector<Slot>& slots, std::int64_t t, std::int64_t o) const;

  Elements<2> rows;
  Elements<2> shared;
  std::int64_t top_k;
};

// The norm, into memory of the caller, rounded to the dtype of output. On an Error nothing has been written.
Status combine(const CombineInputs& inputs, MutableTensorView output, const Policy& policy = {});

// The norm, into a new tensor. output_dtype: a float dtype (VAL-5).
Result<Tensor> combine(const CombineInputs& inputs, Dtype output_dtype, const Policy& policy = {});

}  // namespace moe4
