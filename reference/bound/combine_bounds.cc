#include <string>

#include "reference/arithmetic/product.h"
#include "reference/bound/bounds.h"
#include "reference/bound/dot_pass.h"
#include "reference/bound/exact_double.h"
#include "reference/bound/interval.h"

namespace moe4 {
namespace {

// BND-18: a stored row is a dot product that is known exactly.
DotBound stored_row(const ExactValue& value) {
  DotBound bound;
  bound.exact = true;
  if (!value.is_finite()) return bound;
  bound.value = std::fabs(to_double(value));
  bound.magnitude = bound.value;
  bound.terms = bound.value;
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
  if (Status error = refuse_arithmetic(arithmetic)) return *error;
  const AccumulationFormat format = accumulation_format(output, arithmetic);
  const Elements<2> rows(inputs.rows);
  const Elements<2> shared(inputs.shared_output);

  OutputBounds result;
  result.rows = dims->tokens;
  result.out = dims->out;
  result.outputs.resize(static_cast<std::size_t>(dims->tokens * dims->out));
#pragma omp parallel for schedule(static) if (dims->tokens * dims->out * (dims->top_k + 1) >= 1 << 16)
  for (std::int64_t t = 0; t < dims->tokens; ++t) {
    const std::vector<Slot> slots = combine_slots(inputs, t, policy);
    for (std::int64_t o = 0; o < dims->out; ++o) {
      const ExactValue s = shared.value({t, o});
      OutputSum sum;
      OutputBound bound;
      sum.add(s);
      for (const Slot& slot : slots) {
        const ExactValue row = rows.value({t * dims->top_k + slot.j, o});
        sum.add(product(slot.p, row));
        bound.add_slot(SlotWeight(slot.p, inputs.mixture_weights.dtype, format), stored_row(row),
                       row.is_finite(), format);
      }
      const bool minus_zero = slots.empty() && s.is_zero() && s.negative;  // LIN-7
      result.outputs[static_cast<std::size_t>(t * dims->out + o)] =
          interval(ExactOutput(sum, minus_zero), bound, s.is_finite() ? to_double(s) : 0.0, output, format);
    }
  }
  count_singletons(result);
  return result;
}

}  // namespace moe4
