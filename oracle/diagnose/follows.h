// Whose bits an output has that lies inside its intervals, but not on the bits of the declared arithmetic
// (VER-17): the usual arithmetics are tried, one thing changed at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/case/case_data.h"
#include "oracle/judge/declared_bits.h"

namespace moe4::oracle {

struct Followed {
  std::vector<Arithmetic> arithmetics;  // all compared outputs have the bits of each
  std::int64_t tried = 0;
};

// compared: what VER-17 looks at. wrong: flat indices of the outputs that differ, ascending. Precondition:
// wrong is not empty; output has the shape and dtype of the operation.
Followed followed_arithmetics(const CaseData& data, const Arithmetic& declared, const Tensor& output,
                              const DeclaredBits& compared, const std::vector<std::int64_t>& wrong);

}  // namespace moe4::oracle
