#include <string>

#include "reference/bound/bounds.h"
#include "reference/bound/directed.h"
#include "reference/bound/exact_path.h"
#include "reference/bound/interval.h"

namespace moe4 {
namespace {

// BND-18: a stored row is a dot product that is known exactly.
DotBound stored_row(const ExactValue& value) {
  DotBound bound;
  bound.exact = true;
  if (!value.is_finite()) return bound;
  bound.value = to_double(value);
  bound.magnitude = std::fabs(bound.value);
  bound.terms = bound.magnitude;
  bound.low_bit = lowest_bit(bound.value);
  return bound;
}

}  // namespace

Result<OutputBounds> combine_bounds(const CombineInputs& inputs, Dtype output, const Policy& policy,
                                    const Arithmetic& arithmetic) {
  const Result<CombineDims> dims = validate_combine(inputs);
  if (!dims.ok()) return dims.error();
  if (!is_float(output)) {
    return Error{"output", std::string(name_of(output)), "VAL-5: the output has a float dtype"};
  }
  if (Status error = check_arithmetic(arithmetic, {output, std::nullopt})) return *error;
  const AccumulationFormat format = accumulation_format(output, arithmetic);
  const Elements<2> rows(inputs.rows);
  const Elements<2> shared(inputs.shared_output);
  IntervalCall call = {output, arithmetic.accumulation.kind == Accumulation::Kind::kExact,
                       output == Dtype::kF64 || (inputs.mixture_weights.dtype == Dtype::kF64 &&
                                                 arithmetic.profile == RoundingProfile::kOnce),
                       true};

  OutputBounds result;
  result.rows = dims->tokens;
  result.out = dims->out;
  result.outputs.resize(static_cast<std::size_t>(dims->tokens * dims->out));
#pragma omp parallel for schedule(static) if (dims->tokens * dims->out * (dims->top_k + 1) >= 1 << 16)
  for (std::int64_t t = 0; t < dims->tokens; ++t) {
    const std::vector<Slot> slots = combine_slots(inputs, t, policy);
    std::vector<SlotWeight> weights;
    for (const Slot& slot : slots) weights.emplace_back(slot.p, inputs.mixture_weights.dtype, format);
    std::vector<DotBound> stored(slots.size());
    for (std::int64_t o = 0; o < dims->out; ++o) {
      const ExactValue s = shared.value({t, o});
      const auto row_of = [&](const Slot& slot) { return rows.value({t * dims->top_k + slot.j, o}); };
      IntervalCall here = call;
      here.finite_by_rule = s.is_finite();
      std::vector<SlotBound> terms;
      for (std::size_t n = 0; n < slots.size(); ++n) {
        const ExactValue row = row_of(slots[n]);
        stored[n] = stored_row(row);
        terms.push_back({weights[n], stored[n], row.is_finite()});
        here.finite_by_rule = here.finite_by_rule && weights[n].finite && row.is_finite();
      }
      const LastSum sum = last_sum({format, arithmetic.profile, output}, terms,
                                   s.is_finite() ? to_double(s) : 0.0, here.finite_by_rule);
      result.outputs[static_cast<std::size_t>(t * dims->out + o)] = interval(here, sum, [&] {
        std::vector<ExactTerm> exact;
        for (const Slot& slot : slots) {
          exact.push_back({slot.p, {}});
          exact.back().d.add(row_of(slot));
        }
        return exact_last_sum(arithmetic.profile, output, s, exact);
      });
    }
  }
  count_singletons(result);
  return result;
}

}  // namespace moe4
