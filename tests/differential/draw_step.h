// Operands of one tensor core step, drawn so that every rule of ACC-8 to ACC-12 decides often: exponents
// within a few places of the cut, sums that cancel, zero terms beside tiny ones, subnormal operands and
// results, sums at the end of F32's range, special values.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/tensor_step.h"

namespace differential {

struct DrawnStep {
  slow_model::FloatFormat format;
  std::vector<std::uint64_t> a;  // 1 … L of them, mostly L
  std::vector<std::uint64_t> b;
  std::uint32_t c = 0;
};

DrawnStep draw_step(problems::Draw& draw, const slow_model::Generation& generation);

}  // namespace differential
