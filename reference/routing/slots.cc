#include "reference/routing/slots.h"

#include "reference/formats/elements.h"

namespace moe4 {

std::vector<Slot> contributing_slots(const TensorView& selected_experts, const TensorView& mixture_weights,
                                     std::int64_t t, const Policy& policy) {
  const Elements<2> ids(selected_experts);
  const Elements<2> weights(mixture_weights);
  std::vector<Slot> slots;
  for (std::int64_t j = 0; j < selected_experts.dim(1); ++j) {
    const std::int64_t expert = ids.integer({t, j});
    if (policy.ids == Ids::kAbsent && expert == -1) continue;  // COR-5
    const ExactValue p = weights.value({t, j});
    if (policy.skip_zero_p == SkipZeroP::kYes && p.is_zero()) continue;  // COR-6
    slots.push_back({j, expert, p});
  }
  return slots;
}

}  // namespace moe4
