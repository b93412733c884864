// Declared arithmetics: every word of every key, whether it can be computed or not.
#pragma once

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/declared.h"

namespace differential {

// Chains short enough that widths of one to three groups meet partial and empty ones.
slow_model::SumOrder draw_order(problems::Draw& draw);

slow_model::DeclaredArithmetic draw_arithmetic(problems::Draw& draw);

}  // namespace differential
