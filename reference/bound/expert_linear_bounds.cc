#include <cmath>
#include <string>

#include "reference/bound/bounds.h"
#include "reference/bound/dot_pass.h"
#include "reference/bound/early_tokens.h"
#include "reference/bound/exact_double.h"
#include "reference/bound/interval.h"
#include "reference/linear/rows.h"
#include "reference/routing/slots.h"

namespace moe4 {
namespace {

constexpr std::int64_t kLargestTopK = std::int64_t{1} << 20;

Status refuse(const ExpertLinearDims& dims, const LinearInputs& inputs, const Arithmetic& arithmetic) {
  if (Status error = refuse_width(dims.in)) return error;
  if (Status error = refuse_arithmetic(arithmetic, inputs.weights.format, inputs.latent_tokens.dtype)) {
    return error;
  }
  if (dims.top_k <= kLargestTopK) return {};
  return Error{"selected_experts", std::to_string(dims.top_k),
               "BND-15: a bound is computed for top_k up to 2^20"};
}

// The slots of all tokens, in order: what each dot product is, and what weighs it.
struct Slots {
  std::vector<Slot> slots;
  std::vector<std::int64_t> token;
  std::vector<DotUse> uses;
  std::vector<SlotWeight> weights;
  std::vector<std::size_t> begin;  // those of token t: begin[t] … begin[t+1]-1
  bool wide = false;               // a p is beyond what products in double can take

  Slots(const LinearInputs& inputs, const Policy& policy, std::int64_t tokens, bool early,
        const AccumulationFormat& format) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      begin.push_back(slots.size());
      for (const Slot& slot :
           contributing_slots(inputs.selected_experts, inputs.mixture_weights, t, policy)) {
        uses.push_back({slot.expert, early ? slots.size() : static_cast<std::size_t>(t)});
        slots.push_back(slot);
        if (early) slots.back().p = ExactValue::finite(false, 1, 0);  // PRO-9: p is in the activations
        token.push_back(t);
        weights.emplace_back(slots.back().p, early ? Dtype::kF32 : inputs.mixture_weights.dtype, format);
        const double p = weights.back().magnitude;
        wide = wide || (p != 0 && (p > 0x1p400 || p < 0x1p-400));
      }
    }
    begin.push_back(slots.size());
  }
};

}  // namespace

Result<OutputBounds> expert_linear_bounds(const LinearInputs& inputs, const Policy& policy,
                                          const Arithmetic& arithmetic) {
  const Result<ExpertLinearDims> dims = validate_expert_linear(inputs, policy);
  if (!dims.ok()) return dims.error();
  if (Status error = refuse(*dims, inputs, arithmetic)) return *error;

  const Dtype dtype = inputs.latent_tokens.dtype;
  const AccumulationFormat format = accumulation_format(dtype, arithmetic);
  const bool early = arithmetic.profile == RoundingProfile::kEarly;
  const Slots slots(inputs, policy, dims->tokens, early, format);
  const Elements<2> tokens(inputs.latent_tokens);
  const Elements<2> mixture(inputs.mixture_weights);
  const Elements<2> shared(inputs.shared_output);
  const auto read = [&](std::size_t operand, std::span<ExactValue> row) {
    const std::int64_t t = early ? slots.token[operand] : static_cast<std::int64_t>(operand);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = tokens.value({t, static_cast<std::int64_t>(i)});
    if (early) weigh(row, mixture.value({t, slots.slots[operand].j}), dtype, arithmetic);
  };

  OutputBounds result;
  result.rows = dims->tokens;
  result.out = dims->out;
  result.outputs.resize(static_cast<std::size_t>(dims->tokens * dims->out));
  IntervalCall call = {dtype, arithmetic.accumulation.kind == Accumulation::Kind::kExact,
                       dtype == Dtype::kF64 || (slots.wide && arithmetic.profile == RoundingProfile::kOnce),
                       true};
  const std::size_t operands = early ? slots.slots.size() : static_cast<std::size_t>(dims->tokens);
  bound_dots(
      {inputs.weights, policy, arithmetic, format, dtype, dims->in, dims->out, slots.uses, operands, read},
      [&](RowsOfDots& block) {
        std::vector<SlotBound> terms;
        for (std::int64_t t = 0; t < dims->tokens; ++t) {
          const std::size_t begin = slots.begin[static_cast<std::size_t>(t)];
          const std::size_t end = slots.begin[static_cast<std::size_t>(t) + 1];
          for (int r = 0; r < block.count; ++r) {
            const std::int64_t o = block.first + r;
            const ExactValue s = shared.value({t, o});
            bool finite = s.is_finite();
            terms.clear();
            for (std::size_t u = begin; u < end; ++u) {
              const DotBlock& dots = block.dots[u];
              const auto at = static_cast<std::size_t>(r);
              terms.push_back({slots.weights[u], dots.bound[at], dots.finite[at]});
              finite = finite && slots.weights[u].finite && dots.finite[at];
            }
            IntervalCall here = call;
            here.finite_by_rule = finite;
            const LastSum sum = last_sum({format, arithmetic.profile, dtype}, terms,
                                         s.is_finite() ? to_double(s) : 0.0, finite);
            result.outputs[static_cast<std::size_t>(t * dims->out + o)] = interval(here, sum, [&] {
              std::vector<ExactTerm> exact;
              for (std::size_t u = begin; u < end; ++u)
                exact.push_back({slots.slots[u].p, block.exact(u, r)});
              return exact_last_sum(arithmetic.profile, dtype, s, exact);
            });
          }
        }
      });
  count_singletons(result);
  return result;
}

}  // namespace moe4
