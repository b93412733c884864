#include "oracle/judge/due.h"

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

}  // namespace moe4::oracle
