// Which of a token's slots contribute to its outputs, and with what weight.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/formats/exact_value.h"
#include "reference/policy.h"
#include "reference/tensor.h"

namespace moe4 {

// One contributing slot: j in 0..K-1, its expert in 0..E-1, its mixture weight.
struct Slot {
  std::int64_t j;
  std::int64_t expert;
  ExactValue p;
};

// The slots of token t that contribute, in order of j: all of them (LIN-3), but for absent ones (COR-5) and
// skipped ones (COR-6). Precondition: both tensors are valid by VAL-1 … VAL-9 under the same policy.
std::vector<Slot> contributing_slots(const TensorView& selected_experts, const TensorView& mixture_weights,
                                     std::int64_t t, const Policy& policy);

}  // namespace moe4
