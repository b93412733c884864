#include "gpu/launch/arguments.h"

namespace moe4::gpu {

std::vector<std::string_view> tensors_of(std::string_view op, std::string_view weights) {
  const std::string_view scales = weights == "int4" ? "scales" : "scale_bytes";
  if (op == "expert_linear") {
    return {"latent_tokens",   "packed_weights", scales,  "selected_experts",
            "mixture_weights", "shared_output",  "output"};
  }
  if (op == "indexed") {
    return {"latent_tokens", "packed_weights",    scales,  "sorted_ids",
            "expert_ids",    "num_tokens_padded", "output"};
  }
  if (op == "grouped_contiguous") return {"latent_tokens", "packed_weights", scales, "m_indices", "output"};
  if (op == "grouped_masked") return {"latent_tokens", "packed_weights", scales, "masked_m", "output"};
  if (op == "combine") return {"rows", "mixture_weights", "selected_experts", "shared_output", "output"};
  return {};
}

std::vector<std::int64_t> sizes_of(std::string_view op, const LaunchShape& s) {
  if (op == "expert_linear") return {s.tokens, s.experts, s.in, s.out, s.top_k};
  if (op == "indexed") return {s.tokens, s.in, s.out, s.top_k, s.block_m};
  if (op == "grouped_contiguous") return {s.tokens, s.in, s.out};
  if (op == "grouped_masked") return {s.tokens, s.in, s.out, s.max_m};
  if (op == "combine") return {s.tokens, s.out, s.top_k};
  return {};
}

std::vector<Argument> arguments_of(const Variant& variant, const LaunchShape& shape,
                                   const TensorBuffers& buffers) {
  std::vector<Argument> arguments;
  const auto add = [&](std::string_view tensor) {
    const auto found = buffers.find(tensor);
    if (found == buffers.end()) {
      arguments.push_back({Argument::Kind::kU64, {}, 0});
    } else {
      arguments.push_back({Argument::Kind::kBuffer, found->second, 0});
    }
  };
  for (const std::string_view tensor : tensors_of(variant.op, variant.weights)) add(tensor);
  for (const std::int64_t size : sizes_of(variant.op, shape)) {
    arguments.push_back({Argument::Kind::kU64, {}, static_cast<std::uint64_t>(size)});
  }
  if (variant.workspace_bytes != nullptr) add("workspace");
  return arguments;
}

}  // namespace moe4::gpu
