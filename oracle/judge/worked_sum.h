// The sum behind one output as a table: nibbles, scales, tokens, products.
#pragma once

#include <string>

#include "oracle/judge/verdict.h"

namespace moe4::oracle {

// Empty if the output has more than 32 terms that are not zero, or the operation has no weights.
std::string worked_sum(const CaseData& data, const Mismatch& output);

}  // namespace moe4::oracle
