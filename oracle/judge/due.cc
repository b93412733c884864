#include "oracle/judge/due.h"

#include <algorithm>
#include <vector>

#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"

namespace moe4::oracle {
namespace {

Result<OutputBounds> bounds_of(const CaseData& data, const Arithmetic& arithmetic) {
  switch (data.op) {
    case Op::kExpertLinear:
      return expert_linear_bounds(data.linear(), data.policy, arithmetic);
    case Op::kIndexed:
      return indexed_bounds(data.indexed(), data.policy, arithmetic);
    case Op::kGroupedContiguous:
      return grouped_contiguous_bounds(data.grouped_contiguous(), data.policy, arithmetic);
    case Op::kGroupedMasked:
      return grouped_masked_bounds(data.grouped_masked(), data.policy, arithmetic);
    case Op::kCombine:
      return combine_bounds(data.combine(), data.output_dtype, data.policy, arithmetic);
  }
  return Error{"op", "", "no such operation"};
}

// Every accumulation that rounds; of two units with the same step, one.
std::vector<Accumulation> units() {
  std::vector<Accumulation> all = {Accumulation{}};
  for (const TensorCore& core : tensor_cores()) {
    const bool known = std::ranges::any_of(all, [&](const Accumulation& a) {
      return a.unit != nullptr && a.unit->products == core.products &&
             a.unit->fraction_bits == core.fraction_bits && a.unit->zero_exponent == core.zero_exponent;
    });
    // Turing's step is Ampere's, but takes F16 only (ACC-6): the later generation stands for both.
    if (core.name != "turing" && !known) all.push_back({Accumulation::Kind::kTensorCore, &core});
  }
  return all;
}

// The least interval that holds both. Classes do not depend on the unit (LIN-5).
void widen(OutputInterval& due, const OutputInterval& other, const Encodings& encodings) {
  if (encodings.at_most(other.lo, due.lo, true)) due.lo = other.lo;
  if (encodings.at_most(due.hi, other.hi, true)) due.hi = other.hi;
  due.may_overflow = due.may_overflow || other.may_overflow;
  due.error = std::max(due.error, other.error);
}

}  // namespace

Result<Due> bits_due(const CaseData& data) {
  Result<Norm> norm = fast_norm_result(data);
  if (!norm.ok()) return norm.error();
  const Encodings encodings(norm->output.dtype());
  Due due;
  due.out = output_shape(data).out;
  due.written = std::move(norm->written);
  due.outputs.resize(static_cast<std::size_t>(norm->output.elements()));
  for (std::size_t k = 0; k < due.outputs.size(); ++k) {
    OutputInterval& y = due.outputs[k];
    y.exact = encodings.load(norm->output, static_cast<std::int64_t>(k));
    y.lo = y.exact;
    y.hi = y.exact;
    if (encodings.is_nan(y.exact)) y.cls = OutputClass::kNan;
  }
  return due;
}

Result<Due> interval_due(const CaseData& data, const Arithmetic& arithmetic) {
  Result<OutputBounds> bounds = bounds_of(data, arithmetic);
  if (!bounds.ok()) return bounds.error();
  return Due{bounds->out, std::move(bounds->outputs), std::move(bounds->written)};
}

Result<Due> interval_due_of_any_unit(const CaseData& data, const Arithmetic& arithmetic) {
  const Encodings encodings(output_shape(data).dtype);
  Result<Due> hull = Error{"accumulation", "any", "VER-16: no accumulation has a bound"};
  for (const Accumulation& unit : units()) {
    Arithmetic on_unit = arithmetic;
    on_unit.accumulation = unit;
    on_unit.product_rounded = arithmetic.product_rounded && unit.unit == nullptr;  // tensor cores round none
    Result<Due> due = interval_due(data, on_unit);
    if (!due.ok()) {
      // PRO-20: not every unit takes every dtype.
      if (!hull.ok()) hull = due.error();
      continue;
    }
    if (!hull.ok()) {
      hull = std::move(due);
      continue;
    }
    for (std::size_t k = 0; k < hull->outputs.size(); ++k) {
      if (hull->outputs[k].cls == OutputClass::kFinite) widen(hull->outputs[k], due->outputs[k], encodings);
      hull->outputs[k].may_overflow = hull->outputs[k].may_overflow || due->outputs[k].may_overflow;
    }
  }
  return hull;
}

}  // namespace moe4::oracle
