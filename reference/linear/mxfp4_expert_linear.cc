#include "reference/linear/mxfp4_expert_linear.h"

#include <cstring>
#include <optional>

#include "reference/linear/exact_output.h"
#include "reference/linear/validate.h"

namespace moe4 {
namespace {

void store(const MutableTensorView& output, std::int64_t index, std::uint64_t bits) {
  const std::size_t size = size_of(output.dtype);
  std::memcpy(static_cast<std::byte*>(output.data) + static_cast<std::size_t>(index) * size, &bits, size);
}

}  // namespace

Status mxfp4_expert_linear(const ExpertLinearInputs& inputs, MutableTensorView output, const Policy& policy) {
  const Result<ExpertLinearDims> dims = validate_with_output(inputs, output, policy);
  if (!dims.ok()) return dims.error();
  const std::int64_t tokens = dims->tokens;
  const std::int64_t out = dims->out;

  // Below this, threads cost more than they bring.
  constexpr std::int64_t kMinParallelProducts = 1 << 16;
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

Result<Tensor> mxfp4_expert_linear(const TensorView& latent_tokens, const TensorView& packed_weights,
                                   const TensorView& scale_bytes, const TensorView& selected_experts,
                                   const TensorView& mixture_weights, const TensorView& shared_output) {
  const ExpertLinearInputs inputs = {latent_tokens,    packed_weights,  scale_bytes,
                                     selected_experts, mixture_weights, shared_output};
  const Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(inputs);
  if (!dims.ok()) return dims.error();
  Tensor output(latent_tokens.dtype, {dims->tokens, dims->out});
  if (Status error = mxfp4_expert_linear(inputs, output.mutable_view())) return *error;
  return output;
}

}  // namespace moe4
