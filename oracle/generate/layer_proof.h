// DATA-33 at the size of a layer: the same proof from FP32 products of whole blocks.
#pragma once

#include <vector>

#include "oracle/case/output_rows.h"

namespace moe4::oracle {

// Of each row (in the order of `rows`), an upper bound on the largest sum of its outputs in units; Inf where
// it found none. Empty for operations and dtypes that it is not made for: combine, F64.
//
// Why it bounds: let u be a power of two that divides every product w·x of a slot. |w| and |x| are FP32
// numbers. A product that is below 2^24·u is exact, and so is a sum of such; rounding is monotone, and adding
// a magnitude to a number never makes it smaller; so a sum that comes out below 2^24·u, whatever the order of
// additions and whether fused or not, was exact, and one that comes out above was at least 2^24·u. u is found
// group by group, and may be smaller than the largest such power: then the number of units is an
// overestimate.
std::vector<double> layer_units(const CaseData& data, const std::vector<OutputRow>& rows, int bits);

}  // namespace moe4::oracle
