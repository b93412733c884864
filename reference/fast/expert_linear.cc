#include "reference/fast/expert_linear.h"

#include "reference/fast/fast.h"
#include "reference/linear/validate.h"

namespace moe4::fast {

Status expert_linear(const LinearInputs& inputs, MutableTensorView output, const Policy& policy,
                     Counters* counters) {
  const Result<ExpertLinearDims> dims = validate_with_output(inputs, output, policy);
  if (!dims.ok()) return dims.error();
  const Counters used = fast_expert_linear(inputs, dims.value(), policy, output);
  if (counters != nullptr) *counters += used;
  return {};
}

Result<Tensor> expert_linear(const LinearInputs& inputs, const Policy& policy, Counters* counters) {
  const Result<ExpertLinearDims> dims = validate_expert_linear(inputs, policy);
  if (!dims.ok()) return dims.error();
  Tensor output(inputs.latent_tokens.dtype, {dims->tokens, dims->out});
  if (Status error = expert_linear(inputs, output.mutable_view(), policy, counters)) return *error;
  return output;
}

}  // namespace moe4::fast
