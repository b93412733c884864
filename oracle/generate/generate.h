// From a case line to numbers (docs/spec/data.md). Data is a function of (seed, fill, tensor, logical
// coordinates) only.
#pragma once

#include "oracle/case/case_data.h"

namespace moe4::oracle {

// An Error if the line asks for what cannot be (routing=boundary with too few tokens, an exact fill with no
// room, ...).
Result<CaseData> generate(const Case& c);

// DATA-48. Sets data.layout and data.packed: the weights in this layout of their format (LAY rules).
Status pack_weights(const WeightLayout& layout, CaseData& data);

// The proof of exactness of given data under the limit 2^bits units (DATA rules); proved is false if it does
// not hold.
ExactProof prove_exact(const CaseData& data, int bits);

}  // namespace moe4::oracle
