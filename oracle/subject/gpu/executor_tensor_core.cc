#include "oracle/subject/gpu/executor_tensor_core.h"

#include <vector>

#include "reference/accumulate/tensor_core.h"

namespace moe4::oracle {
namespace {

// ACC-13, for each element of the tile.
void multiply_add(const void* context, const ptx::TensorTile& tile) {
  const Dtype operands = tile.type == ptx::TensorType::kF16 ? Dtype::kF16 : Dtype::kBF16;
  tensor_core_tile(*static_cast<const TensorCore*>(context), operands,
                   {tile.rows, tile.columns, tile.k, tile.a, tile.b, tile.d});
}

}  // namespace

const ptx::TensorCore* executor_tensor_core(std::string_view hardware) {
  static const std::vector<ptx::TensorCore> kAll = [] {
    std::vector<ptx::TensorCore> all;
    for (const TensorCore& unit : tensor_cores()) {
      all.push_back({std::string(unit.name), &multiply_add, &unit, multiplies(unit, Dtype::kF16),
                     multiplies(unit, Dtype::kBF16)});
    }
    return all;
  }();
  for (const ptx::TensorCore& core : kAll) {
    if (core.chip == hardware) return &core;
  }
  return nullptr;
}

const ptx::TensorCore* executor_tensor_core(const CaseData& data, const Declaration& declaration,
                                            std::string_view usual) {
  if (data.line && data.line->hardware) return executor_tensor_core(*data.line->hardware);
  const Accumulation& accumulation = declaration.arithmetic.accumulation;
  const bool declared = accumulation.kind == Accumulation::Kind::kTensorCore && !declaration.any_accumulation;
  return executor_tensor_core(declared ? name_of(accumulation) : usual);
}

}  // namespace moe4::oracle
