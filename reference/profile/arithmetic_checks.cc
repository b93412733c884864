#include "reference/accumulate/tensor_core.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {
namespace {

constexpr std::int64_t kMaxStreamKSlices = 3;

Error refuse(std::string_view field, std::string_view value, std::string rule) {
  return {std::string(field), std::string(value), std::move(rule)};
}

Status check_exact(const Arithmetic& a) {
  if (a.accumulation.kind != Accumulation::Kind::kExact) return {};
  if (a.product_rounded) return refuse("products", "rounded", "PRO-20: accumulation=exact rounds no product");
  if (a.ftz) return refuse("ftz", "yes", "PRO-20: accumulation=exact flushes nothing");
  return {};
}

Status check_weight(const Arithmetic& a, WeightFormat weights) {
  if (weights == WeightFormat::kInt4 && a.weight != WeightOperand::kExact) {
    return refuse("weight", "bf16", "PRO-20: int4 weights are what dequant makes of them");
  }
  if (weights == WeightFormat::kMxfp4 && a.dequant != Int4Order::kNorm) {
    return refuse("dequant", name_of(a.dequant), "PRO-20: mxfp4 has no orders of dequantisation");
  }
  return {};
}

Status check_tensor_core(const Arithmetic& a, Dtype tokens) {
  if (a.accumulation.kind != Accumulation::Kind::kTensorCore) return {};
  const TensorCore& unit = *a.accumulation.unit;
  if (!multiplies(unit, tokens)) {
    return refuse("accumulation", unit.name,
                  "PRO-20: it multiplies " + std::string(unit.bf16 ? "BF16 and F16" : "F16") +
                      " (ACC-6), and the tokens are " + std::string(name_of(tokens)));
  }
  if (a.product_rounded) return refuse("products", "rounded", "PRO-20: a tensor core rounds no product");
  if (a.dequant == Int4Order::kExactW) {
    return refuse("dequant", "exactw", "PRO-20: an unrounded weight is no operand of a tensor core");
  }
  if (tokens == Dtype::kF16 && a.weight == WeightOperand::kBf16) {
    return refuse("weight", "bf16",
                  "PRO-20: both operands of a tensor core have the dtype of the tokens, F16");
  }
  return {};
}

Status check_stream_k(const Arithmetic& a, Dtype tokens) {
  if (a.order.slicing != Order::Slicing::kStreamK) return {};
  if (tokens != Dtype::kBF16) {
    return refuse("order", to_string(a.order), "PRO-18: streamk is defined for BF16 tokens");
  }
  if (a.order.slices > kMaxStreamKSlices) {
    return refuse("order", to_string(a.order),
                  "PRO-18: with more than 3 slices the order of the sums is not deterministic");
  }
  return {};
}

}  // namespace

Status check_arithmetic(const Arithmetic& arithmetic, const ArithmeticUse& use) {
  if (Status error = check_exact(arithmetic)) return error;
  if (!use.weights) {  // combine
    if (arithmetic.profile != RoundingProfile::kEarly) return {};
    return refuse("profile", "early", "PRO-11: combine has no tokens to weigh early");
  }
  Status error = check_weight(arithmetic, *use.weights);
  if (!error) error = check_tensor_core(arithmetic, use.output);
  if (!error) error = check_stream_k(arithmetic, use.output);
  return error;
}

}  // namespace moe4
