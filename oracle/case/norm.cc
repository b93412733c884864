#include "oracle/case/norm.h"

#include "reference/fast/fast.h"
#include "reference/profile/declared_combine.h"
#include "reference/profile/declared_linear.h"
#include "reference/profile/declared_rows.h"

namespace moe4::oracle {
namespace {

template <class Dims>
Status status_of(const Result<Dims>& dims) {
  return dims.ok() ? Status() : Status(dims.error());
}

Result<Norm> with_rows(Result<RowsResult> rows) {
  if (!rows.ok()) return rows.error();
  return Norm{std::move(rows->output), std::move(rows->written)};
}

Result<Norm> all_rows(Result<Tensor> output) {
  if (!output.ok()) return output.error();
  return Norm{std::move(*output), {}};
}

}  // namespace

Status validate(const CaseData& data) {
  switch (data.op) {
    case Op::kExpertLinear:
      return status_of(validate_expert_linear(data.linear(), data.policy));
    case Op::kIndexed:
      return status_of(validate_indexed(data.indexed()));
    case Op::kGroupedContiguous:
      return status_of(validate_grouped_contiguous(data.grouped_contiguous()));
    case Op::kGroupedMasked:
      return status_of(validate_grouped_masked(data.grouped_masked()));
    case Op::kCombine:
      return status_of(validate_combine(data.combine()));
  }
  return {};
}

Result<Norm> norm_result(const CaseData& data) {
  switch (data.op) {
    case Op::kExpertLinear:
      return all_rows(expert_linear(data.linear(), data.policy));
    case Op::kIndexed:
      return with_rows(indexed(data.indexed(), data.policy));
    case Op::kGroupedContiguous:
      return with_rows(grouped_contiguous(data.grouped_contiguous(), data.policy));
    case Op::kGroupedMasked:
      return with_rows(grouped_masked(data.grouped_masked(), data.policy));
    case Op::kCombine:
      return all_rows(combine(data.combine(), data.output_dtype, data.policy));
  }
  return Error{"op", "", "no such operation"};
}

Result<Norm> fast_norm_result(const CaseData& data) {
  switch (data.op) {
    case Op::kExpertLinear:
      return all_rows(fast::expert_linear(data.linear(), data.policy));
    case Op::kIndexed:
      return with_rows(fast::indexed(data.indexed(), data.policy));
    case Op::kGroupedContiguous:
      return with_rows(fast::grouped_contiguous(data.grouped_contiguous(), data.policy));
    case Op::kGroupedMasked:
      return with_rows(fast::grouped_masked(data.grouped_masked(), data.policy));
    case Op::kCombine:
      return all_rows(fast::combine(data.combine(), data.output_dtype, data.policy));
  }
  return Error{"op", "", "no such operation"};
}

Result<Norm> declared_result(const CaseData& data, const Arithmetic& arithmetic) {
  switch (data.op) {
    case Op::kExpertLinear:
      return all_rows(declared_expert_linear(data.linear(), arithmetic, data.policy));
    case Op::kIndexed:
      return with_rows(declared_indexed(data.indexed(), arithmetic, data.policy));
    case Op::kGroupedContiguous:
      return with_rows(declared_grouped_contiguous(data.grouped_contiguous(), arithmetic, data.policy));
    case Op::kGroupedMasked:
      return with_rows(declared_grouped_masked(data.grouped_masked(), arithmetic, data.policy));
    case Op::kCombine:
      return all_rows(declared_combine(data.combine(), data.output_dtype, arithmetic, data.policy));
  }
  return Error{"op", "", "no such operation"};
}

}  // namespace moe4::oracle
