// CKP-7: an expert's projections as modules of their own, and what may stand in such a module.
#include <algorithm>
#include <array>

#include "oracle/file/checkpoint/matrix.h"

namespace moe4::oracle {
namespace {

std::string module_name(const ExpertLayer& layer, std::int64_t expert, Projection projection) {
  const bool numbered = layer.naming == Naming::kNumbered;
  const std::string start = layer.stem + std::to_string(expert) + ".";
  if (projection == Projection::kGate) return start + (numbered ? "w1." : "gate_proj.");
  if (projection == Projection::kUp) return start + (numbered ? "w3." : "up_proj.");
  return start + (numbered ? "w2." : "down_proj.");
}

// CKP-11, by the part of the name after the module.
std::string why_not(std::string_view part) {
  if (part == "weight_zero_point") return "a zero point: quantisation is symmetric (RTE-31)";
  if (part == "weight_g_idx") return "an activation order is not supported (RTE-31)";
  if (part == "weight_global_scale" || part == "input_global_scale")
    return "NVFP4, scales of two levels, is not supported (RTE-31)";
  if (part == "bias") return "a bias is not supported (RTE-31)";
  return "a module of 4-bit weights is weight_packed, weight_scale and, for int4, weight_shape (RTE-31)";
}

Status check_parts(const CheckpointIndex& index, const std::string& module, WeightFormat format) {
  for (auto it = index.names().lower_bound(module); it != index.names().end(); ++it) {
    if (it->first.compare(0, module.size(), module) != 0) break;
    const std::string_view part = std::string_view(it->first).substr(module.size());
    const bool known = part == "weight_packed" || part == "weight_scale" ||
                       (part == "weight_shape" && format == WeightFormat::kInt4);
    if (!known) return Error{index.label(it->first), "", "CKP-11: " + why_not(part)};
  }
  return {};
}

Result<StoredMatrix> matrix_of(CheckpointIndex& index, const std::string& module,
                               std::optional<WeightFormat> format) {
  if (!format) {
    // Without a config the words or bytes of the codes say it; what else is there is refused by its name
    // first.
    const std::string packed = module + "weight_packed";
    if (index.names().count(packed) == 0) {
      if (Status status = check_parts(index, module, WeightFormat::kInt4)) return *status;
    }
    Result<StoredTensor> codes = tensor_of(index, packed, {"I32", "U8"}, {-1, -1}, "CKP-7");
    if (!codes) return codes.error();
    format = codes->entry.dtype == Dtype::kI32 ? WeightFormat::kInt4 : WeightFormat::kMxfp4;
  }
  if (Status status = check_parts(index, module, *format)) return *status;
  return *format == WeightFormat::kInt4 ? int4_module(index, module) : mxfp4_module(index, module);
}

}  // namespace

Result<StoredMatrices> expert_modules(CheckpointIndex& index, const ExpertLayer& layer, Projection projection,
                                      std::int64_t expert, std::optional<WeightFormat> format) {
  std::vector<Projection> parts = {projection};
  if (projection == Projection::kGateUp) parts = {Projection::kGate, Projection::kUp};
  StoredMatrices matrices;
  for (const Projection part : parts) {
    Result<StoredMatrix> matrix = matrix_of(index, module_name(layer, expert, part), format);
    if (!matrix) return matrix.error();
    if (!matrices.empty() && (matrix->layout != matrices[0].layout || matrix->whole != matrices[0].whole)) {
      return Error{matrix->codes.label, to_string(matrix->codes.entry.shape),
                   "CKP-7: gate and up of an expert have one shape and one format"};
    }
    matrices.push_back(std::move(*matrix));
  }
  return matrices;
}

}  // namespace moe4::oracle
