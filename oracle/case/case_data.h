// The tensors of a case, whether drawn from a case line or read from a file.
#pragma once

#include <optional>
#include <string>

#include "oracle/case/case.h"
#include "reference/layout/repack.h"
#include "reference/linear/combine.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"
#include "reference/linear/mxfp4_expert_linear.h"

namespace moe4::oracle {

// Why an exact fill is exact: the largest sum of magnitudes of any output, in units, against the limit (DATA
// rules).
struct ExactProof {
  bool proved = false;
  double largest_units = 0;  // max over outputs of (sum_j |p| * sum_i |w x| + |shared|) / unit, rounded up
  double limit_units = 0;    // 2^8 or 2^24
};

// Which tensors and numbers there are depends on op and weights (docs/spec/case_file.md, FILE-16): the others
// are empty.
struct CaseData {
  std::optional<Case> line;  // absent for a file without moe4.case
  Op op = Op::kExpertLinear;
  WeightFormat weights = WeightFormat::kMxfp4;
  Policy policy;

  Tensor latent_tokens, packed_weights;
  Tensor scale_bytes;  // weights=mxfp4
  Tensor scales;       // weights=int4
  Tensor selected_experts, mixture_weights, shared_output;
  Tensor sorted_ids, expert_ids, num_tokens_padded;  // indexed
  Tensor m_indices;                                  // grouped_contiguous
  Tensor masked_m;                                   // grouped_masked
  Tensor rows;                                       // combine
  bool has_selected_experts = true;                  // combine: the tensor may be left out
  std::int64_t top_k = 1, block_m = 1;               // indexed
  std::int64_t expected_m = 1;                       // grouped_masked
  Dtype output_dtype = Dtype::kBF16;                 // combine; the dtype of the tokens otherwise

  // The same weights as a kernel of another layout reads them; null and empty: as above.
  const WeightLayout* layout = nullptr;
  WeightTensors packed;

  std::optional<ExactProof> proof;  // for exact fills
  std::string checkpoint;           // where the weights come from (CKP-16); empty: drawn

  Tensor& scale_tensor() { return weights == WeightFormat::kMxfp4 ? scale_bytes : scales; }
  const Tensor& scale_tensor() const { return weights == WeightFormat::kMxfp4 ? scale_bytes : scales; }
  ExpertWeights expert_weights() const { return {weights, packed_weights.view(), scale_tensor().view()}; }

  // Precondition: op is the one of the name; inputs(): weights=mxfp4 too.
  ExpertLinearInputs inputs() const {
    return {latent_tokens.view(),    packed_weights.view(),  scale_bytes.view(),
            selected_experts.view(), mixture_weights.view(), shared_output.view()};
  }
  LinearInputs linear() const {
    return {latent_tokens.view(), expert_weights(), selected_experts.view(), mixture_weights.view(),
            shared_output.view()};
  }
  IndexedInputs indexed() const {
    return {latent_tokens.view(),
            expert_weights(),
            sorted_ids.view(),
            expert_ids.view(),
            num_tokens_padded.view(),
            top_k,
            block_m};
  }
  GroupedContiguousInputs grouped_contiguous() const {
    return {latent_tokens.view(), expert_weights(), m_indices.view()};
  }
  GroupedMaskedInputs grouped_masked() const {
    return {latent_tokens.view(), expert_weights(), masked_m.view(), expected_m};
  }
  CombineInputs combine() const {
    std::optional<TensorView> ids;
    if (has_selected_experts) ids = selected_experts.view();
    return {rows.view(), mixture_weights.view(), ids, shared_output.view()};
  }
};

}  // namespace moe4::oracle
