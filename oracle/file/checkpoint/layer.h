// The layers and experts that a checkpoint has, by the names of its tensors alone (CKP-5, CKP-6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/file/checkpoint/index.h"

namespace moe4::oracle {

enum class Naming {
  kProjections,  // …mlp.experts.E.gate_proj.PART: Kimi K2
  kNumbered,     // …block_sparse_moe.experts.E.w1.PART: Kimi K3
  kStacked,      // …mlp.experts.gate_up_proj_blocks, all experts in one tensor: gpt-oss
  kStackedMlp,   // block.L.mlp.mlp1_weight.blocks: gpt-oss, original
};

// The name of a tensor of routed experts, taken apart.
struct ExpertTensorName {
  Naming naming = Naming::kProjections;
  std::int64_t layer = 0;
  std::string_view stem;               // up to the expert's number, or to what differs between the tensors
  std::optional<std::int64_t> expert;  // absent where one tensor holds them all
};
std::optional<ExpertTensorName> parse_expert_tensor_name(std::string_view name);

struct ExpertLayer {
  Naming naming = Naming::kProjections;
  std::string stem;                   // "model.layers.3.mlp.experts."
  std::vector<std::int64_t> experts;  // ascending; empty where one tensor holds them all

  bool stacked() const { return naming == Naming::kStacked || naming == Naming::kStackedMlp; }
};
Result<ExpertLayer> find_layer(const CheckpointIndex& index, std::int64_t layer);

}  // namespace moe4::oracle
