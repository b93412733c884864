// VER-17: outputs held to the bits of the declared arithmetic, for a subject that promises them.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/judge/compare.h"

namespace moe4::oracle {

// Which outputs of a case are compared, and what the declared arithmetic gives for each.
struct DeclaredBits {
  std::vector<std::int64_t> index;  // flat, ascending
  std::vector<std::uint64_t> bits;
};

// due: interval_due of the same arithmetic; outputs that are not finite or may overflow are left out. An
// Error: nothing evaluates the arithmetic (PRO-20).
Result<DeclaredBits> declared_bits(const CaseData& data, const Arithmetic& arithmetic, const Due& due);

struct BitsComparison {
  std::vector<std::int64_t> wrong;  // flat indices, ascending
  std::vector<Mismatch> worst;      // at most 20
};

// Precondition: the output lies in its intervals. NaN where a number is due is wrong as well.
BitsComparison compare_bits(const Tensor& output, std::int64_t out, const DeclaredBits& due,
                            const CompareRules& rules);

}  // namespace moe4::oracle
