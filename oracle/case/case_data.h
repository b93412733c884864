// The tensors of a case, whether drawn from a case line or read from a file.
#pragma once

#include <optional>
#include <string>

#include "oracle/case/case.h"
#include "reference/linear/mxfp4_expert_linear.h"

namespace moe4::oracle {

// Why an exact fill is exact: the largest sum of magnitudes of any output, in units, against the limit (DATA
// rules).
struct ExactProof {
  bool proved = false;
  double largest_units = 0;  // max over outputs of (sum_j |p| * sum_i |w x| + |shared|) / unit, rounded up
  double limit_units = 0;    // 2^8 or 2^24
};

struct CaseData {
  std::optional<Case> line;  // absent for a file without moe4.case
  Policy policy;
  Tensor latent_tokens, packed_weights, scale_bytes, selected_experts, mixture_weights, shared_output;
  std::optional<ExactProof> proof;  // for exact fills
  std::string checkpoint;           // where the weights come from (CKP-16); empty: drawn

  ExpertLinearInputs inputs() const {
    return {latent_tokens.view(),    packed_weights.view(),  scale_bytes.view(),
            selected_experts.view(), mixture_weights.view(), shared_output.view()};
  }
};

}  // namespace moe4::oracle
