// The reference with one fault around it, for each relation one that breaks it.
#pragma once

#include "tests/properties/kernel.h"

namespace properties {

Kernel second_row_off();  // the last bit of row 1 is wrong
Kernel last_slot_ignored();
Kernel expert_zero_taken_for_last();
Kernel last_group_ignored();
Kernel wrong_for_three_tokens();  // the last bit of the first output, if T = 3
Kernel second_column_off();
Kernel every_scale_read();  // a byte 255 anywhere makes the first output NaN
Kernel strides_ignored();
Kernel writes_behind_the_output();
Kernel writes_an_input();
Kernel depends_on_threads();
Kernel wrong_for_even_exponents();  // the last bit of outputs whose exponent field is even

}  // namespace properties
