// Edits that make rare events common in a drawn problem: exact cancellation, ties, results at the ends of the
// output's range. A draw alone would meet them once in millions.
#pragma once

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/problem.h"

namespace problems {

// Token pairs x[2i+1] = x[2i] with opposite codes: every d_j is an exact zero made of non-zero terms,
// if the two elements share a scale (they do: pairs don't cross groups).
void cancel_dots(Draw& draw, slow_model::Problem& problem);

// An infinite p on some slots.
void plant_infinite_p(Draw& draw, slow_model::Problem& problem);

// Slot 1 repeats the expert of slot 0 with the opposite p, for some tokens.
void cancel_slots(Draw& draw, slow_model::Problem& problem);

// A number of interest near `routed`: zero, a midpoint of the format's grid, the overflow threshold, half the
// smallest subnormal.
slow_model::Dyadic draw_target(Draw& draw, const slow_model::FloatFormat& format,
                               const slow_model::Dyadic& routed);

// Chooses shared outputs so that the exact sum lands on, or one step of shared's format beside, an
// interesting number: zero, a midpoint of the output's grid, the overflow threshold, half the smallest
// subnormal. Where shared's format can't hold what is missing the sum lands near it.
void aim_shared(Draw& draw, slow_model::Problem& problem);

// Makes every output an exact tie anywhere in the output's range, or one smallest token beside it. aim_shared
// can't do that where shared has no more bits than the output.
void plant_ties(Draw& draw, slow_model::Problem& problem);

// One scale byte 255, or scale that is Inf or NaN, among others; half of the time over a group of zero codes.
void plant_nan_scale(Draw& draw, slow_model::Problem& problem);

// NaN and Inf in a few elements of tokens, p or shared.
void plant_non_finite(Draw& draw, slow_model::Problem& problem);

}  // namespace problems
