#include "oracle/subject/plugin/plugin_case.h"

#include <cstring>

#include "oracle/case/output_rows.h"

namespace moe4::oracle {
namespace {

std::uint32_t plugin_op(Op op) {
  switch (op) {
    case Op::kExpertLinear:
      return MOE4_EXPERT_LINEAR;
    case Op::kIndexed:
      return MOE4_INDEXED;
    case Op::kGroupedContiguous:
      return MOE4_GROUPED_CONTIGUOUS;
    case Op::kGroupedMasked:
      return MOE4_GROUPED_MASKED;
    case Op::kCombine:
      return MOE4_COMBINE;
  }
  return 0;
}

}  // namespace

std::uint32_t plugin_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::kU8:
      return MOE4_U8;
    case Dtype::kI32:
      return MOE4_I32;
    case Dtype::kI64:
      return MOE4_I64;
    case Dtype::kBF16:
      return MOE4_BF16;
    case Dtype::kF16:
      return MOE4_F16;
    case Dtype::kF32:
      return MOE4_F32;
    case Dtype::kF64:
      return MOE4_F64;
  }
  return MOE4_NONE;
}

moe4_tensor PluginCase::lend(const Tensor& tensor) {
  auto copy = std::make_unique<GuardedBuffer>(tensor.bytes());
  if (tensor.bytes() != 0) std::memcpy(copy->data(), tensor.data(), tensor.bytes());
  const moe4_tensor lent{plugin_dtype(tensor.dtype()), static_cast<std::uint32_t>(tensor.shape().size()),
                         tensor.shape().data(), copy->data()};
  lent_.push_back({&tensor, std::move(copy)});
  return lent;
}

PluginCase::PluginCase(const CaseData& data)
    : line_(data.line ? to_string(*data.line) : ""), policy_(moe4::to_string(data.policy)) {
  moe4_case& c = case_;
  c.size = sizeof c;
  c.op = plugin_op(data.op);
  c.weights = data.weights == WeightFormat::kMxfp4 ? MOE4_MXFP4 : MOE4_INT4;
  c.line = line_.c_str();
  c.policy = policy_.c_str();
  const WeightLayout& layout =
      data.layout != nullptr ? *data.layout : *logical_layout(moe4::name_of(data.weights));
  layout_ = layout.name;
  c.layout = layout_.c_str();
  c.out = output_shape(data).out;
  if (data.op == Op::kCombine) {
    c.rows = lend(data.rows);
  } else {
    c.experts = data.packed_weights.dim(0);
    c.in = in_of(data);
    c.latent_tokens = lend(data.latent_tokens);
    c.packed_weights = lend(data.layout != nullptr ? data.packed.codes : data.packed_weights);
    if (!layout.scales_among_codes()) {
      c.scales = lend(data.layout != nullptr ? data.packed.scales : data.scale_tensor());
    }
  }
  if (!is_row_op(data.op)) {
    if (data.op == Op::kExpertLinear || data.has_selected_experts)
      c.selected_experts = lend(data.selected_experts);
    c.mixture_weights = lend(data.mixture_weights);
    c.shared_output = lend(data.shared_output);
  }
  if (data.op == Op::kIndexed) {
    c.top_k = data.top_k;
    c.block_m = data.block_m;
    c.sorted_ids = lend(data.sorted_ids);
    c.expert_ids = lend(data.expert_ids);
    c.num_tokens_padded = lend(data.num_tokens_padded);
  }
  if (data.op == Op::kGroupedContiguous) c.m_indices = lend(data.m_indices);
  if (data.op == Op::kGroupedMasked) {
    c.masked_m = lend(data.masked_m);
    c.expected_m = data.expected_m;
  }
}

bool PluginCase::unchanged() const {
  for (const Lent& lent : lent_) {
    const Tensor& t = *lent.original;
    if (!lent.copy->intact()) return false;
    if (t.bytes() != 0 && std::memcmp(lent.copy->data(), t.data(), t.bytes()) != 0) return false;
  }
  return true;
}

}  // namespace moe4::oracle
