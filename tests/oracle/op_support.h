// Shared by the tests of cases of all operations and weight formats.
#pragma once

#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "tests/oracle/case_support.h"

namespace moe4::oracle {

inline const std::vector<Op>& row_ops() {
  static const std::vector<Op> kOps = {Op::kIndexed, Op::kGroupedContiguous, Op::kGroupedMasked};
  return kOps;
}

inline std::vector<WeightFormat> all_weights() { return {WeightFormat::kMxfp4, WeightFormat::kInt4}; }

inline Norm norm_of_data(const CaseData& data) {
  Result<Norm> norm = norm_result(data);
  EXPECT_TRUE(norm.ok()) << (norm.ok() ? "" : norm.error().message());
  return norm.ok() ? std::move(*norm) : Norm{};
}

// The code of weight (e, o, i) of either format.
inline unsigned any_code_at(const CaseData& data, std::int64_t e, std::int64_t o, std::int64_t i) {
  const WeightLayout& layout = *logical_layout(name_of(data.weights));
  const WeightExtent extent{data.scale_tensor().dim(0), data.scale_tensor().dim(1),
                            data.scale_tensor().dim(2) * 32};
  return get_code(layout, data.packed_weights.data(), layout.code_at(extent, e, o, i));
}

inline std::uint16_t any_scale_at(const CaseData& data, std::int64_t e, std::int64_t o, std::int64_t g) {
  const Tensor& scales = data.scale_tensor();
  const auto at = static_cast<std::size_t>((e * scales.dim(1) + o) * scales.dim(2) + g);
  return data.weights == WeightFormat::kMxfp4 ? scales.as<std::uint8_t>()[at]
                                              : scales.as<std::uint16_t>()[at];
}

// FNV-1a over the bytes of all tensors.
inline std::uint64_t digest_of_all(const CaseData& data) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const Tensor* tensor :
       {&data.latent_tokens, &data.packed_weights, &data.scale_bytes, &data.scales, &data.selected_experts,
        &data.mixture_weights, &data.shared_output, &data.sorted_ids, &data.expert_ids,
        &data.num_tokens_padded, &data.m_indices, &data.masked_m, &data.rows}) {
    for (std::size_t n = 0; n < tensor->bytes(); ++n) {
      hash = (hash ^ std::to_integer<std::uint64_t>(tensor->data()[n])) * 0x100000001B3u;
    }
  }
  return hash;
}

}  // namespace moe4::oracle
