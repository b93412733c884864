#include "oracle/subject/launch_values.h"

#include <array>
#include <utility>

namespace moe4::oracle {
namespace {

constexpr std::int64_t kGroup = 32;  // FMT-4

void add_weights(const CaseData& data, Letters& letters) {
  letters["E"] = data.packed_weights.dim(0);
  letters["O"] = data.packed_weights.dim(1);
  const std::int64_t in = data.latent_tokens.dim(data.op == Op::kGroupedMasked ? 2 : 1);
  letters["I"] = in;
  letters["G"] = in / kGroup;
}

}  // namespace

Letters letters_of(const CaseData& data) {
  Letters letters;
  if (data.op != Op::kCombine) add_weights(data, letters);
  switch (data.op) {
    case Op::kExpertLinear:
      letters["T"] = data.latent_tokens.dim(0);
      letters["K"] = data.selected_experts.dim(1);
      break;
    case Op::kIndexed:
      letters["M"] = data.latent_tokens.dim(0);
      letters["K"] = data.top_k;
      letters["block_m"] = data.block_m;
      letters["capacity"] = data.sorted_ids.dim(0);
      break;
    case Op::kGroupedContiguous:
      letters["M"] = data.latent_tokens.dim(0);
      break;
    case Op::kGroupedMasked:
      letters["max_m"] = data.latent_tokens.dim(1);
      letters["expected_m"] = data.expected_m;
      break;
    case Op::kCombine:
      letters["T"] = data.mixture_weights.dim(0);
      letters["K"] = data.mixture_weights.dim(1);
      letters["O"] = data.shared_output.dim(1);
      break;
  }
  return letters;
}

const Tensor* tensor_of(const CaseData& data, std::string_view name) {
  const bool laid_out = data.layout != nullptr;
  const Tensor* codes = laid_out ? &data.packed.codes : &data.packed_weights;
  const Tensor* scales = laid_out ? &data.packed.scales : &data.scale_tensor();
  const bool mxfp4 = data.weights == WeightFormat::kMxfp4;
  const bool linear = data.op == Op::kExpertLinear, combine = data.op == Op::kCombine;
  struct Named {
    std::string_view name;
    const Tensor* tensor;
    bool there;
  };
  const std::array<Named, 13> tensors = {
      {{"latent_tokens", &data.latent_tokens, !combine},
       {"packed_weights", codes, !combine},
       {"scale_bytes", scales, !combine && mxfp4},
       {"scales", scales, !combine && !mxfp4},
       {"selected_experts", &data.selected_experts, linear || (combine && data.has_selected_experts)},
       {"mixture_weights", &data.mixture_weights, linear || combine},
       {"shared_output", &data.shared_output, linear || combine},
       {"sorted_ids", &data.sorted_ids, data.op == Op::kIndexed},
       {"expert_ids", &data.expert_ids, data.op == Op::kIndexed},
       {"num_tokens_padded", &data.num_tokens_padded, data.op == Op::kIndexed},
       {"m_indices", &data.m_indices, data.op == Op::kGroupedContiguous},
       {"masked_m", &data.masked_m, data.op == Op::kGroupedMasked},
       {"rows", &data.rows, combine}}};
  for (const Named& known : tensors) {
    if (known.name == name) return known.there ? known.tensor : nullptr;
  }
  return nullptr;
}

}  // namespace moe4::oracle
