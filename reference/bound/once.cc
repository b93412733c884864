#include "reference/bound/once.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/bound/exact_double.h"
#include "reference/bound/output_bound.h"
#include "reference/linear/exact_output.h"

namespace moe4 {
namespace {

constexpr std::int64_t kLargestIn = std::int64_t{1} << 20;
constexpr std::int64_t kLargestTopK = std::int64_t{1} << 20;
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 20;  // products

// One use of an expert.
struct Use {
  std::int64_t token;
  SlotWeight p;
};

Status refuse(const ExpertLinearDims& dims) {  // BND-15
  if (dims.in > kLargestIn) {
    return Error{"latent_tokens", std::to_string(dims.in), "BND-15: a bound is computed for I up to 2^20"};
  }
  if (dims.top_k > kLargestTopK) {
    return Error{"selected_experts", std::to_string(dims.top_k),
                 "BND-15: a bound is computed for top_k up to 2^20"};
  }
  return {};
}

std::map<std::int64_t, std::vector<Use>> uses_by_expert(const ExpertLinearInputs& inputs,
                                                        const Policy& policy, std::int64_t tokens,
                                                        const AccumulationFormat& format) {
  std::map<std::int64_t, std::vector<Use>> uses;
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (const Slot& slot : contributing_slots(inputs.selected_experts, inputs.mixture_weights, t, policy)) {
      uses[slot.expert].push_back({t, SlotWeight(slot.p, inputs.mixture_weights.dtype, format)});
    }
  }
  return uses;
}

OutputClass class_of(SumClass cls) {
  switch (cls) {
    case SumClass::kFinite:
      return OutputClass::kFinite;
    case SumClass::kNan:
      return OutputClass::kNan;
    case SumClass::kPlusInf:
      return OutputClass::kPlusInf;
    case SumClass::kMinusInf:
      return OutputClass::kMinusInf;
  }
  return OutputClass::kNan;
}

std::uint64_t rounded_sum(const ExactOutput& exact, double error, Dtype dtype) {
  ExactOutput end = exact;
  end.add_double(error);
  return end.round(dtype);
}

// BND-11; the ends of an error without bound are the infinities.
OutputInterval interval(const ExactOutput& exact, const OutputBound& bound, double s, Dtype dtype,
                        const AccumulationFormat& format) {
  OutputInterval y;
  y.exact = exact.round(dtype);
  y.lo = y.exact;
  y.hi = y.exact;
  y.cls = class_of(exact.cls());
  const OutputBound::Result result = bound.finish(s, y.cls == OutputClass::kFinite, format);
  y.may_overflow = result.may_overflow;
  y.error = result.error;
  if (y.cls != OutputClass::kFinite || result.error == 0) return y;
  if (std::isfinite(result.error)) {
    y.lo = rounded_sum(exact, -result.error, dtype);
    y.hi = rounded_sum(exact, result.error, dtype);
  } else {
    y.hi = format_of(dtype).infinity();
    y.lo = y.hi | format_of(dtype).sign_bit();
  }
  return y;
}

}  // namespace

Result<OnceBounds> once_bounds(const ExpertLinearInputs& inputs, const Policy& policy,
                               const Arithmetic& arithmetic) {
  const Result<ExactLinear> linear = ExactLinear::create(inputs, policy);
  if (!linear.ok()) return linear.error();
  const ExpertLinearDims dims = linear->dims();
  if (const Status error = refuse(dims)) return *error;

  const AccumulationFormat format = accumulation_format(inputs.latent_tokens.dtype, arithmetic);
  const FlatPlan plan(plan_chains(arithmetic.order, dims.in));
  const DotBounder bound_dots(plan, format, arithmetic);
  const auto uses = uses_by_expert(inputs, policy, dims.tokens, format);

  std::vector<TokenOperand> tokens;
  tokens.reserve(static_cast<std::size_t>(dims.tokens));
  for (std::int64_t t = 0; t < dims.tokens; ++t) {
    tokens.emplace_back(plan, Elements<2>(inputs.latent_tokens), t, dims.in);
  }

  const bool threads = dims.tokens * dims.top_k * dims.out >= kWorthThreads / dims.in;

  // Each block of rows belongs to one thread; a row is decoded once for all tokens that select its expert.
  std::vector<OutputBound> bounds(static_cast<std::size_t>(dims.tokens * dims.out));
  const std::int64_t blocks = (dims.out + kRowBlock - 1) / kRowBlock;
#pragma omp parallel if (threads)
  {
    RowBlock rows(plan);
#pragma omp for schedule(dynamic)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = block * kRowBlock;
      const std::int64_t rows_here = std::min<std::int64_t>(kRowBlock, dims.out - first);
      for (const auto& [expert, users] : uses) {
        rows.decode(plan, Elements<4>(inputs.packed_weights), Elements<3>(inputs.scale_bytes), policy, expert,
                    first, dims.out);
        for (const Use& use : users) {
          const TokenOperand& token = tokens[static_cast<std::size_t>(use.token)];
          const auto dots = bound_dots(rows, token);
          for (std::int64_t r = 0; r < rows_here; ++r) {
            const bool finite = token.finite && rows.finite[static_cast<std::size_t>(r)];
            bounds[static_cast<std::size_t>(use.token * dims.out + first + r)].add_slot(
                use.p, dots[static_cast<std::size_t>(r)], finite, format);
          }
        }
      }
    }
  }

  OnceBounds result;
  result.tokens = dims.tokens;
  result.out = dims.out;
  result.outputs.resize(bounds.size());
  std::int64_t singletons = 0;
  const Elements<2> shared(inputs.shared_output);
#pragma omp parallel reduction(+ : singletons) if (threads)
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
      OutputInterval& y = result.outputs[static_cast<std::size_t>(index)];
      y = interval(token->output(o), bounds[static_cast<std::size_t>(index)],
                   s.is_finite() ? to_double(s) : 0.0, inputs.latent_tokens.dtype, format);
      if (y.lo == y.hi && !y.may_overflow) ++singletons;
    }
  }
  if (!result.outputs.empty()) {
    result.singleton_share = static_cast<double>(singletons) / static_cast<double>(result.outputs.size());
  }
  return result;
}

}  // namespace moe4
