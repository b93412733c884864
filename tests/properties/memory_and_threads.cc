#include <omp.h>

#include <algorithm>

#include "tests/properties/relations.h"
#include "tests/properties/strided.h"
#include "tests/support/problems/fingerprint.h"
#include "tests/support/reference_call/reference_call.h"

namespace properties {
namespace {

bool same_bytes(const moe4::Tensor& a, const moe4::Tensor& b) {
  return std::equal(a.data(), a.data() + a.bytes(), b.data());
}

}  // namespace

std::string strided_inputs(const Kernel& kernel, const Problem& problem) {
  const reference_call::Tensors tensors(problem);
  const std::uint64_t choice = problems::fingerprint(problem);
  const Strided x = spread(tensors.latent_tokens, choice);
  const Strided w = spread(tensors.packed_weights, choice >> 3);
  const Strided scales = spread(tensors.scale_bytes, choice >> 6);
  const Strided ids = spread(tensors.selected_experts, choice >> 9);
  const Strided p = spread(tensors.mixture_weights, choice >> 12);
  const Strided s = spread(tensors.shared_output, choice >> 15);
  moe4::Tensor output(tensors.latent_tokens.dtype(), {problem.tokens, problem.out});
  const moe4::Status status = kernel({x.view, w.view, scales.view, ids.view, p.view, s.view},
                                     output.mutable_view(), reference_call::policy_of(problem.policy));
  if (status) return status->message();
  return reference_call::bits_of(output) == outputs(kernel, problem) ? "" : "the outputs differ";
}

std::string nothing_else_written(const Kernel& kernel, const Problem& problem) {
  constexpr std::ptrdiff_t kGuard = 64;
  const reference_call::Tensors before(problem);
  const reference_call::Tensors tensors(problem);
  const moe4::Dtype dtype = tensors.latent_tokens.dtype();
  const std::size_t bytes = static_cast<std::size_t>(problem.tokens * problem.out) * moe4::size_of(dtype);
  std::vector<std::byte> memory(bytes + 2 * kGuard, std::byte{0x5A});
  const moe4::MutableTensorView output = {dtype, {problem.tokens, problem.out}, memory.data() + kGuard};
  const moe4::Status status = kernel(tensors.inputs(), output, reference_call::policy_of(problem.policy));
  if (status) return status->message();
  const auto intact = [](std::byte b) { return b == std::byte{0x5A}; };
  if (!std::all_of(memory.begin(), memory.begin() + kGuard, intact) ||
      !std::all_of(memory.end() - kGuard, memory.end(), intact)) {
    return "bytes beside the output were written";
  }
  const bool inputs_stand = same_bytes(before.latent_tokens, tensors.latent_tokens) &&
                            same_bytes(before.packed_weights, tensors.packed_weights) &&
                            same_bytes(before.scale_bytes, tensors.scale_bytes) &&
                            same_bytes(before.selected_experts, tensors.selected_experts) &&
                            same_bytes(before.mixture_weights, tensors.mixture_weights) &&
                            same_bytes(before.shared_output, tensors.shared_output);
  return inputs_stand ? "" : "an input was written";
}

std::string thread_counts(const Kernel& kernel, const Problem& problem) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Bits one = outputs(kernel, problem);
  omp_set_num_threads(4);
  const Bits four = outputs(kernel, problem);
  omp_set_num_threads(threads);
  return one == four ? "" : "1 thread and 4 threads differ";
}

}  // namespace properties
