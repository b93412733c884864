// The reference on the tensors of a case, whatever the operation.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case_data.h"
#include "reference/profile/arithmetic.h"

namespace moe4::oracle {

// The validation of the case's operation, without an output.
Status validate(const CaseData& data);

struct Norm {
  Tensor output;
  std::vector<std::uint8_t> written;  // a row (RTE-3); empty: every row is
};
Result<Norm> norm_result(const CaseData& data);
// The same bits by the fast path (reference/fast): what subjects are judged by.
Result<Norm> fast_norm_result(const CaseData& data);
// What a healthy kernel of this arithmetic returns (docs/spec/profiles.md).
Result<Norm> declared_result(const CaseData& data, const Arithmetic& arithmetic);

}  // namespace moe4::oracle
