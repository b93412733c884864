#include "reference/linear/combine.h"

#include <vector>

#include "reference/arithmetic/canary.h"
#include "reference/fast/fast.h"
#include "reference/fast/weighted_sum.h"
#include "reference/linear/store.h"

namespace moe4::fast {

Status combine(const CombineInputs& inputs, MutableTensorView output, const Policy& policy,
               Counters* counters) {
  const Result<CombineDims> dims = validate_combine(inputs, &output);
  if (!dims.ok()) return dims.error();
  const CombineTerms terms(inputs);
  const bool parallel = dims->tokens * dims->out >= kMinParallelProducts / (dims->top_k + 1);
  constexpr std::int64_t kMaxSlots = 1 << 16;
  Counters total;

#pragma omp parallel if (parallel)
  {
    const bool sound = !check_float_environment() && dims->top_k <= kMaxSlots;
    Counters mine;
#pragma omp for schedule(static)
    for (std::int64_t t = 0; t < dims->tokens; ++t) {
      const std::vector<Slot> slots = combine_slots(inputs, t, policy);
      std::vector<double> p;
      for (const Slot& slot : slots) p.push_back(to_double(slot.p));
      for (std::int64_t o = 0; o < dims->out; ++o) {
        std::optional<std::uint64_t> y;
        if (sound && !slots.empty()) {
          WeightedSum sum(to_double(terms.shared.value({t, o})));
          for (std::size_t n = 0; n < slots.size(); ++n) {
            sum.add(p[n], to_double(terms.rows.value({t * dims->top_k + slots[n].j, o})), 0);
          }
          y = sum.round(output.dtype, mine);
        }
        if (!y) {
          y = terms.output(slots, t, o).round(output.dtype);
          ++mine.exact;
        }
        store(output, t * dims->out + o, *y);
      }
    }
#pragma omp critical
    total += mine;
  }
  if (counters != nullptr) *counters += total;
  return {};
}

Result<Tensor> combine(const CombineInputs& inputs, Dtype output_dtype, const Policy& policy,
                       Counters* counters) {
  // The norm's checks in its order, without its work: an output of no tokens' dtype is refused there.
  const Result<CombineDims> dims = validate_combine(inputs);
  if (!dims.ok()) return dims.error();
  if (!is_float(output_dtype)) {
    const Result<Tensor> refused = moe4::combine(inputs, output_dtype, policy);
    return refused.error();
  }
  Tensor output(output_dtype, {dims->tokens, dims->out});
  if (Status error = combine(inputs, output.mutable_view(), policy, counters)) return *error;
  return output;
}

}  // namespace moe4::fast
