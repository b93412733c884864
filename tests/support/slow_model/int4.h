// INT4 weights (INT-1 to INT-5) and the other orders of dequantisation (INT-9, INT-10).
#pragma once

#include <cstdint>
#include <span>

#include "tests/support/slow_model/short_number.h"

namespace slow_model {

enum class Int4Order {
  kNorm,
  kFma,
  kTwoRoundings,
  kTruncate,
  kTiesAway,
  kF32Scale,
  kF16Multiply,
  kZeroPoint7,
  kTwosComplement,
  kAccumulatorScale,
  kExactW,
};

struct NamedInt4Order {
  const char* name;  // as in INT-9
  Int4Order order;
};
std::span<const NamedInt4Order> named_int4_orders();

// The code of element i of a row of words.
int int4_code_at(std::span<const std::uint32_t> row, std::int64_t i);

// The sum over a group is factor * (sum of weight * x). The factor is 1 in all orders but one.
struct Int4Term {
  ShortNumber weight;
  ShortNumber factor;
};

// scale: of BF16, with kF32Scale of F32.
Int4Term int4_term(Int4Order order, int code, const ShortNumber& scale);

// INT-4: the encoding of the weight in BF16.
std::uint64_t int4_weight(int code, std::uint64_t scale);

}  // namespace slow_model
