// The slices of a stream-K sum: each rounded to BF16 and added in BF16 (PRO-17, BND-23).
#pragma once

#include <span>

namespace moe4 {

// One slice before its rounding: the kernel's in [value - below, value + above], the exact one within slack.
struct Partial {
  double value, slack, below, above;
};

struct PartialSums {
  double exact = 0;         // PRO-17 on the exact slices
  bool exact_known = true;  // false: `exact` may be a neighbour of it
  double lo = 0, hi = 0;    // what the kernel may hold, BF16 numbers
  bool overflow = false;    // a rounding may overflow; lo and hi are then clamped to finite numbers
};

// From the last slice to the first. More than three slices may be added in any order.
PartialSums sum_of_partials(std::span<const Partial> partials);

}  // namespace moe4
