// The matrices of experts where they lie in the mapped files: what the readers of the three kinds of
// checkpoint give (kimi_k2.cc, kimi_k3.cc, gpt_oss.cc), and how a matrix is copied out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/file/checkpoint/layer.h"
#include "oracle/file/checkpoint/projection.h"
#include "reference/formats/weight_format.h"
#include "reference/layout/weight_layout.h"

namespace moe4::oracle {

// Rows first_row … first_row + rows - 1 of one expert's weights [1,O,I], which are stored in `layout`.
struct StoredMatrix {
  const WeightLayout* layout = nullptr;
  WeightExtent whole;
  std::int64_t first_row = 0, rows = 0;
  StoredTensor codes, scales;  // data: of this expert
};
// One below the other: gate_up of an expert whose gate and up are two matrices.
using StoredMatrices = std::vector<StoredMatrix>;

// kimi_k2.cc, CKP-8; module: "model.layers.3.mlp.experts.5.gate_proj."
Result<StoredMatrix> int4_module(CheckpointIndex& index, const std::string& module);
// kimi_k3.cc, CKP-9
Result<StoredMatrix> mxfp4_module(CheckpointIndex& index, const std::string& module);
// gpt_oss.cc, CKP-10
Result<StoredMatrix> gpt_oss_matrix(CheckpointIndex& index, const ExpertLayer& layer, Projection projection,
                                    std::int64_t expert);
// How many experts the layer's tensors hold.
Result<std::int64_t> gpt_oss_experts(CheckpointIndex& index, const ExpertLayer& layer, Projection projection);

// modules.cc: of layers with a tensor per expert; format: what config.json says, if anything (CKP-4, CKP-7).
Result<StoredMatrices> expert_modules(CheckpointIndex& index, const ExpertLayer& layer, Projection projection,
                                      std::int64_t expert, std::optional<WeightFormat> format);

// The tensor, stored in one of these dtypes and with this shape, where -1 stands for any number.
Result<StoredTensor> tensor_of(CheckpointIndex& index, const std::string& name,
                               std::initializer_list<std::string_view> dtypes, const Shape& shape,
                               const char* rule);
// The extent of codes [E,…] in a layout, or what stands against it: LAY-4 or the rule for their shape.
Result<WeightExtent> extent_of(const WeightLayout& layout, const StoredTensor& codes, const Shape& shape,
                               const char* rule);

// Copies the rows in the logical layout: codes [rows, I/2 bytes], scales [rows, G].
Status copy_rows(const StoredMatrix& matrix, std::byte* codes, std::byte* scales);

}  // namespace moe4::oracle
