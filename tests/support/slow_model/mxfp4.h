// MXFP4 weights (FMT-1 to FMT-5) and the scale policies (COR-1, COR-2).
#pragma once

#include <cstdint>
#include <span>

#include "tests/support/slow_model/extended.h"

namespace slow_model {

enum class ScaleNan { kOcp, kFormula, kInf };
enum class ScaleZero { kExact, kFlush };

// The value of E2M1 code 0..15.
Dyadic e2m1_value(int code);

// The code of element i of a row whose bytes are given.
int code_at(std::span<const std::uint8_t> row, std::int64_t i);

// The weight that a code and the scale byte of its group stand for.
Extended weight_of(int code, std::uint8_t scale_byte, ScaleNan scale_nan, ScaleZero scale_zero);

}  // namespace slow_model
