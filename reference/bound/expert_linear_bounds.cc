#include <optional>
#include <string>

#include "reference/bound/bounds.h"
#include "reference/bound/dot_pass.h"
#include "reference/bound/exact_double.h"
#include "reference/bound/interval.h"

namespace moe4 {
namespace {

constexpr std::int64_t kLargestTopK = std::int64_t{1} << 20;
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 20;  // products

Status refuse(const ExpertLinearDims& dims) {
  if (Status error = refuse_width(dims.in)) return error;
  if (dims.top_k <= kLargestTopK) return {};
  return Error{"selected_experts", std::to_string(dims.top_k),
               "BND-15: a bound is computed for top_k up to 2^20"};
}

// The slots of all tokens: what each dot product is, and what weighs it.
struct Slots {
  std::vector<DotUse> uses;
  std::vector<SlotWeight> weights;
  std::vector<std::size_t> begin;  // slots of token t: begin[t] … begin[t+1]-1

  Slots(const LinearInputs& inputs, const Policy& policy, std::int64_t tokens,
        const AccumulationFormat& format) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      begin.push_back(uses.size());
      for (const Slot& slot :
           contributing_slots(inputs.selected_experts, inputs.mixture_weights, t, policy)) {
        uses.push_back({slot.expert, static_cast<std::size_t>(t)});
        weights.emplace_back(slot.p, inputs.mixture_weights.dtype, format);
      }
    }
    begin.push_back(uses.size());
  }
};

}  // namespace

Result<OutputBounds> expert_linear_bounds(const LinearInputs& inputs, const Policy& policy,
                                          const Arithmetic& arithmetic) {
  const Result<ExactLinear> linear = ExactLinear::create(inputs, policy);
  if (!linear.ok()) return linear.error();
  const ExpertLinearDims dims = linear->dims();
  if (Status error = refuse(dims)) return *error;
  if (Status error = refuse_arithmetic(arithmetic)) return *error;

  const AccumulationFormat format = accumulation_format(inputs.latent_tokens.dtype, arithmetic);
  const Slots slots(inputs, policy, dims.tokens, format);
  std::vector<std::array<std::int64_t, 2>> operands;
  for (std::int64_t t = 0; t < dims.tokens; ++t) operands.push_back({0, t});

  const WeightReader weights(inputs.weights, policy);
  const Elements<3> tokens(by_blocks(inputs.latent_tokens, 1, dims.tokens));
  const DotPass pass = {weights, tokens, operands, slots.uses, dims.in, dims.out, format, arithmetic};
  std::vector<OutputBound> bounds(static_cast<std::size_t>(dims.tokens * dims.out));
  bound_dots(pass, [&](std::int64_t first, int rows, std::span<const DotBlock> dots) {
    for (std::int64_t t = 0; t < dims.tokens; ++t) {
      for (int r = 0; r < rows; ++r) {
        OutputBound& bound = bounds[static_cast<std::size_t>(t * dims.out + first + r)];
        for (std::size_t u = slots.begin[static_cast<std::size_t>(t)];
             u < slots.begin[static_cast<std::size_t>(t) + 1]; ++u) {
          const auto row = static_cast<std::size_t>(r);
          bound.add_slot(slots.weights[u], dots[u].bound[row], dots[u].finite[row], format);
        }
      }
    }
  });

  OutputBounds result;
  result.rows = dims.tokens;
  result.out = dims.out;
  result.outputs.resize(bounds.size());
  const Elements<2> shared(inputs.shared_output);
  const bool threads = dims.tokens * dims.top_k * dims.out >= kWorthThreads / dims.in;
#pragma omp parallel if (threads)
  {
    std::optional<ExactToken> token;
    std::int64_t t_of_token = -1;
#pragma omp for schedule(static)
    for (std::int64_t index = 0; index < dims.tokens * dims.out; ++index) {
      const std::int64_t t = index / dims.out;
      const std::int64_t o = index % dims.out;
      if (t != t_of_token) token.emplace(linear->token(t));
      t_of_token = t;
      const ExactValue s = shared.value({t, o});
      result.outputs[static_cast<std::size_t>(index)] =
          interval(token->output(o), bounds[static_cast<std::size_t>(index)],
                   s.is_finite() ? to_double(s) : 0.0, inputs.latent_tokens.dtype, format);
    }
  }
  count_singletons(result);
  return result;
}

}  // namespace moe4
