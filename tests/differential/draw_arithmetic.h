// Declared arithmetics: every word of every key, whether it can be computed or not.
#pragma once

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/declared.h"

namespace differential {

// Chains short enough that widths of one to three groups meet partial and empty ones.
slow_model::SumOrder draw_order(problems::Draw& draw);

slow_model::DeclaredArithmetic draw_arithmetic(problems::Draw& draw);

// The same arithmetic with what PRO-18 and PRO-20 refuse for this use put at a value that they allow.
slow_model::DeclaredArithmetic allowed(slow_model::DeclaredArithmetic arithmetic,
                                       const slow_model::Layer& layer, const slow_model::FloatFormat& tokens);
slow_model::DeclaredArithmetic allowed_for_combine(slow_model::DeclaredArithmetic arithmetic);

}  // namespace differential
