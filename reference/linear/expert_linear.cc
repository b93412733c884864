#include "reference/linear/expert_linear.h"

#include <optional>

#include "reference/linear/exact_output.h"
#include "reference/linear/store.h"
#include "reference/linear/validate.h"

namespace moe4 {

Status expert_linear(const LinearInputs& inputs, MutableTensorView output, const Policy& policy) {
  const Result<ExpertLinearDims> dims = validate_with_output(inputs, output, policy);
  if (!dims.ok()) return dims.error();
  const std::int64_t tokens = dims->tokens;
  const std::int64_t out = dims->out;
  const bool parallel = tokens * out >= kMinParallelProducts / dims->in;

  // LIN-8: without outputs there is nothing to do; without slots y is RNE(s).
  // LIN-9: outputs are independent of each other, so the number of threads changes no bit.
#pragma omp parallel if (parallel)
  {
    std::optional<ExactToken> token;
    std::int64_t t_of_token = -1;
#pragma omp for schedule(static)
    for (std::int64_t index = 0; index < tokens * out; ++index) {
      const std::int64_t t = index / out;
      if (t != t_of_token) token.emplace(inputs, policy, t);
      t_of_token = t;
      const ExactOutput y = token->output(index % out);
      store(output, index, y.round(output.dtype));  // LIN-1, LIN-2: the one rounding
    }
  }
  return {};
}

Result<Tensor> expert_linear(const LinearInputs& inputs, const Policy& policy) {
  const Result<ExpertLinearDims> dims = validate_expert_linear(inputs, policy);
  if (!dims.ok()) return dims.error();
  Tensor output(inputs.latent_tokens.dtype, {dims->tokens, dims->out});
  if (Status error = expert_linear(inputs, output.mutable_view(), policy)) return *error;
  return output;
}

}  // namespace moe4
