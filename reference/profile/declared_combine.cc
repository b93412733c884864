#include "reference/profile/declared_combine.h"

#include <variant>
#include <vector>

#include "reference/linear/store.h"
#include "reference/profile/exact_ops.h"
#include "reference/profile/float_ops.h"
#include "reference/profile/profile_output.h"

namespace moe4 {
namespace {

using AnyOps = std::variant<ExactOps, FloatOps<float>, FloatOps<double>>;

AnyOps ops_of(const Arithmetic& arithmetic, Dtype output) {
  if (arithmetic.accumulation.kind == Accumulation::Kind::kExact) return ExactOps{};
  if (output == Dtype::kF64) return FloatOps<double>(arithmetic);
  return FloatOps<float>(arithmetic);
}

}  // namespace

struct DeclaredCombine::State {
  CombineInputs inputs;
  Policy policy;
  RoundingProfile profile;
  FloatFormat format;
  CombineDims dims;
  AnyOps ops;

  std::vector<Slot> slots(std::int64_t t) const { return combine_slots(inputs, t, policy); }

  std::uint64_t output(const std::vector<Slot>& slots, std::int64_t t, std::int64_t o) const {
    const Elements<2> rows(inputs.rows);
    const ExactValue s = Elements<2>(inputs.shared_output).value({t, o});
    return std::visit(
        [&](const auto& exact_or_float) {
          using Ops = std::decay_t<decltype(exact_or_float)>;
          std::vector<typename Ops::Dot> d;
          d.reserve(slots.size());
          for (const Slot& slot : slots) {
            d.push_back(exact_or_float.dot_of(rows.value({t * dims.top_k + slot.j, o})));
          }
          const ProfileTerms<Ops> terms = {s, slots, d, true};
          return profile_output(exact_or_float, profile, format, terms);
        },
        ops);
  }
};

DeclaredCombine::DeclaredCombine(std::unique_ptr<const State> state) : state_(std::move(state)) {}
DeclaredCombine::DeclaredCombine(DeclaredCombine&&) noexcept = default;
DeclaredCombine& DeclaredCombine::operator=(DeclaredCombine&&) noexcept = default;
DeclaredCombine::~DeclaredCombine() = default;

Result<DeclaredCombine> DeclaredCombine::create(const CombineInputs& inputs, Dtype output_dtype,
                                                const Arithmetic& arithmetic, const Policy& policy) {
  const Result<CombineDims> dims = validate_combine(inputs);
  if (!dims.ok()) return dims.error();
  if (!is_float(output_dtype)) {
    return Error{"output", std::string(name_of(output_dtype)), "VAL-5: the output has a float dtype"};
  }
  if (Status error = check_arithmetic(arithmetic, {output_dtype, std::nullopt})) return *error;
  return DeclaredCombine(std::unique_ptr<const State>(new State{
      inputs, policy, arithmetic.profile, format_of(output_dtype), *dims, ops_of(arithmetic, output_dtype)}));
}

const CombineDims& DeclaredCombine::dims() const { return state_->dims; }

std::uint64_t DeclaredCombine::output(std::int64_t t, std::int64_t o) const {
  return state_->output(state_->slots(t), t, o);
}

void DeclaredCombine::outputs(const MutableTensorView& output) const {
  const CombineDims& dims = state_->dims;
  const bool parallel = dims.tokens * dims.out >= kMinParallelProducts / (dims.top_k + 1);
#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t t = 0; t < dims.tokens; ++t) {
    const std::vector<Slot> slots = state_->slots(t);
    for (std::int64_t o = 0; o < dims.out; ++o) {
      store(output, t * dims.out + o, state_->output(slots, t, o));
    }
  }
}

Result<Tensor> declared_combine(const CombineInputs& inputs, Dtype output_dtype, const Arithmetic& arithmetic,
                                const Policy& policy) {
  const Result<DeclaredCombine> kernel = DeclaredCombine::create(inputs, output_dtype, arithmetic, policy);
  if (!kernel.ok()) return kernel.error();
  Tensor output(output_dtype, {kernel->dims().tokens, kernel->dims().out});
  kernel->outputs(output.mutable_view());
  return output;
}

}  // namespace moe4
