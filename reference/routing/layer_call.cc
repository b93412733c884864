#include "reference/routing/layer_call.h"

#include <vector>

namespace moe4 {
namespace {

// What each operation must and must not be given.
struct Arguments {
  std::vector<std::string_view> required;
  std::vector<std::string_view> refused;
};

const Arguments& arguments_of(ServingOp op) {
  static const Arguments kIndexed = {{"sorted_ids", "expert_ids", "num_tokens_padded"},
                                     {"expert_layout", "m_indices"}};
  static const Arguments kContiguous = {
      {"m_indices"},
      {"sorted_ids", "expert_ids", "num_tokens_padded", "tuning_config", "block_m", "expert_layout"}};
  static const Arguments kMasked = {
      {"expert_layout"},
      {"sorted_ids", "expert_ids", "num_tokens_padded", "tuning_config", "block_m", "m_indices"}};
  switch (op) {
    case ServingOp::kIndexed:
      return kIndexed;
    case ServingOp::kGroupedContiguous:
      return kContiguous;
    case ServingOp::kGroupedMasked:
      break;
  }
  return kMasked;
}

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

std::string describe(const PackedFor& packed) {
  switch (packed.op) {
    case ServingOp::kIndexed:
      return packed.layout == IndexedLayout::kMma ? "indexed, layout mma" : "indexed, layout wgmma";
    case ServingOp::kGroupedContiguous:
      return "grouped_contiguous, BLOCK_K 64";
    case ServingOp::kGroupedMasked:
      break;
  }
  return "grouped_masked, BLOCK_K 128";
}

}  // namespace

std::string_view name_of(ServingOp op) {
  switch (op) {
    case ServingOp::kIndexed:
      return "indexed";
    case ServingOp::kGroupedContiguous:
      return "grouped_contiguous";
    case ServingOp::kGroupedMasked:
      break;
  }
  return "grouped_masked";
}

Status check_packed(const PackedFor& packed, const PackedFor& needed) {
  const bool same_layout = packed.op != ServingOp::kIndexed || packed.layout == needed.layout;
  if (packed.op == needed.op && same_layout) return {};
  return Error{"packed_weights", "packed for " + describe(packed),
               "RTE-29: repack them for " + describe(needed)};
}

Status check_layer_call(ServingOp op, const LayerCall& call) {
  const std::string name(name_of(op));
  if (!call.gemm_type.empty() && call.gemm_type != name) {
    return Error{"gemm_type", call.gemm_type, "RTE-30: the gemm_type of this layer is " + name};
  }
  const Arguments& arguments = arguments_of(op);
  for (const std::string_view argument : arguments.refused) {
    if (!call.given.contains(argument)) continue;
    return Error{std::string(argument), "given",
                 "RTE-30: a layer of " + name + " is not given this, but " + list(arguments.required)};
  }
  for (const std::string_view argument : arguments.required) {
    if (call.given.contains(argument)) continue;
    return Error{std::string(argument), "missing",
                 "RTE-30: a layer of " + name + " is given " + list(arguments.required)};
  }
  if (op == ServingOp::kGroupedMasked && call.valid_shape_m < 1) {
    return Error{"valid_shape_m", std::to_string(call.valid_shape_m),
                 "RTE-30: valid_shape_m is at least 1 for a layer of " + name};
  }
  if (call.use_f16_accum) return Error{"use_f16_accum", "true", "RTE-30: sums are kept in F32"};
  if (call.use_batch_invariant)
    return Error{"use_batch_invariant", "true", "RTE-30: there is no such kernel"};
  return {};
}

}  // namespace moe4
