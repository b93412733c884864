#include "reference/profile/declared_linear.h"

#include <optional>
#include <vector>

#include "reference/linear/store.h"
#include "reference/profile/dots.h"
#include "reference/profile/profile_output.h"
#include "reference/routing/slots.h"

namespace moe4 {

struct DeclaredLinear::State {
  LinearInputs inputs;
  Policy policy;
  Arithmetic arithmetic;
  ExpertLinearDims dims;
  ChainPlan plan;
  AnyDots dots;
};

namespace {

// One token: its slots, and the activations of each; the same for all of them unless they are weighed early.
template <class Dots>
struct DeclaredToken {
  std::vector<Slot> slots;
  std::vector<typename Dots::Token> x;

  const typename Dots::Token& x_of(std::size_t slot) const { return x.size() == 1 ? x[0] : x[slot]; }
};

// PRO-9: R(A(P·x)).
template <class Ops>
std::vector<ExactValue> weighed(const Ops& ops, const FloatFormat& format, const ExactValue& p,
                                std::span<const ExactValue> x) {
  std::vector<ExactValue> weighed;
  weighed.reserve(x.size());
  for (const ExactValue& v : x) {
    weighed.push_back(decode_float(format, ops.round(format, ops.product(p, ops.dot_of(v)))));
  }
  return weighed;
}

template <class State, class Dots>
DeclaredToken<Dots> token_of(const State& state, const Dots& dots, std::int64_t t) {
  const LinearInputs& in = state.inputs;
  const Elements<2> tokens(in.latent_tokens);
  std::vector<ExactValue> x;
  x.reserve(static_cast<std::size_t>(state.dims.in));
  for (std::int64_t i = 0; i < state.dims.in; ++i) x.push_back(tokens.value({t, i}));
  DeclaredToken<Dots> token{contributing_slots(in.selected_experts, in.mixture_weights, t, state.policy), {}};
  if (state.arithmetic.profile != RoundingProfile::kEarly) {
    token.x.push_back(dots.token(x));
    return token;
  }
  const FloatFormat format = format_of(in.latent_tokens.dtype);
  for (const Slot& slot : token.slots) token.x.push_back(dots.token(weighed(dots.ops(), format, slot.p, x)));
  return token;
}

template <class State, class Dots>
std::uint64_t output_of(const State& state, const Dots& dots, const DeclaredToken<Dots>& token,
                        std::int64_t t, std::int64_t o) {
  using Ops = typename Dots::Ops;
  std::vector<typename Ops::Dot> d;
  d.reserve(token.slots.size());
  for (std::size_t j = 0; j < token.slots.size(); ++j) {
    d.push_back(dots.dot(token.slots[j].expert, o, token.x_of(j), state.plan));
  }
  const ProfileTerms<Ops> terms = {Elements<2>(state.inputs.shared_output).value({t, o}), token.slots, d};
  return profile_output(dots.ops(), state.arithmetic.profile, format_of(state.inputs.latent_tokens.dtype),
                        terms);
}

}  // namespace

DeclaredLinear::DeclaredLinear(std::unique_ptr<const State> state) : state_(std::move(state)) {}
DeclaredLinear::DeclaredLinear(DeclaredLinear&&) noexcept = default;
DeclaredLinear& DeclaredLinear::operator=(DeclaredLinear&&) noexcept = default;
DeclaredLinear::~DeclaredLinear() = default;

Result<DeclaredLinear> DeclaredLinear::create(const LinearInputs& inputs, const Arithmetic& arithmetic,
                                              const Policy& policy) {
  const Result<ExpertLinearDims> dims = validate_expert_linear(inputs, policy);
  if (!dims.ok()) return dims.error();
  const Dtype tokens = inputs.latent_tokens.dtype;
  if (Status error = check_arithmetic(arithmetic, {tokens, inputs.weights.format})) return *error;
  return DeclaredLinear(std::unique_ptr<const State>(
      new State{inputs, policy, arithmetic, *dims, declared_plan(arithmetic, dims->in),
                make_dots(inputs.weights, policy, arithmetic, tokens)}));
}

const ExpertLinearDims& DeclaredLinear::dims() const { return state_->dims; }

std::uint64_t DeclaredLinear::output(std::int64_t t, std::int64_t o) const {
  return std::visit(
      [&](const auto& dots) { return output_of(*state_, dots, token_of(*state_, dots, t), t, o); },
      state_->dots);
}

void DeclaredLinear::outputs(const MutableTensorView& output) const {
  const ExpertLinearDims& dims = state_->dims;
  const bool parallel = dims.tokens * dims.out >= kMinParallelProducts / dims.in;
  std::visit(
      [&](const auto& dots) {
        using Dots = std::decay_t<decltype(dots)>;
    // LIN-9: outputs are independent of each other.
#pragma omp parallel if (parallel)
        {
          std::optional<DeclaredToken<Dots>> token;
          std::int64_t t_of_token = -1;
#pragma omp for schedule(static)
          for (std::int64_t index = 0; index < dims.tokens * dims.out; ++index) {
            const std::int64_t t = index / dims.out;
            if (t != t_of_token) token.emplace(token_of(*state_, dots, t));
            t_of_token = t;
            store(output, index, output_of(*state_, dots, *token, t, index % dims.out));
          }
        }
      },
      state_->dots);
}

Result<Tensor> declared_expert_linear(const LinearInputs& inputs, const Arithmetic& arithmetic,
                                      const Policy& policy) {
  const Result<DeclaredLinear> kernel = DeclaredLinear::create(inputs, arithmetic, policy);
  if (!kernel.ok()) return kernel.error();
  Tensor output(inputs.latent_tokens.dtype, {kernel->dims().tokens, kernel->dims().out});
  kernel->outputs(output.mutable_view());
  return output;
}

}  // namespace moe4
