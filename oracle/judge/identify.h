// Which other arithmetic a wrong result follows: "follows late_bf16_sum; declare it". Never a verdict: a
// result that fails by its declaration has failed.
#pragma once

#include <string>
#include <vector>

#include "oracle/judge/verdict.h"

namespace moe4::oracle {

struct Identified {
  Arithmetic arithmetic;
  double singleton_share = 0;  // of the outputs, under it; near 0 it says little
};

// Tries the other profiles, weight operands, dequantisations and flushing, one changed at a time, with the
// declared order and accumulation. All under which every output is right and at least half of the outputs
// have one right value; more than one where their intervals do not tell them apart.
std::vector<Identified> identify(const CaseData& data, const Declaration& declaration, const Tensor& output);

// "follows profile=late_bf16_sum …; declare it", or that no other arithmetic explains the result.
// Precondition: the verdict is FAILED by values.
std::string identification(const CaseData& data, const Declaration& declaration, const Tensor& output);

}  // namespace moe4::oracle
