#include "reference/profile/declared_combine.h"

#include <vector>

#include "reference/linear/store.h"
#include "reference/profile/exact_ops.h"
#include "reference/profile/float_ops.h"
#include "reference/profile/profile_output.h"

namespace moe4 {
namespace {

template <class Ops>
void combine_with(const Ops& ops, const CombineInputs& inputs, const CombineDims& dims,
                  RoundingProfile profile, const Policy& policy, const MutableTensorView& output) {
  const Elements<2> rows(inputs.rows);
  const Elements<2> shared(inputs.shared_output);
  const bool parallel = dims.tokens * dims.out >= kMinParallelProducts / (dims.top_k + 1);
#pragma omp parallel for schedule(static) if (parallel)
  for (std::int64_t t = 0; t < dims.tokens; ++t) {
    const std::vector<Slot> slots = combine_slots(inputs, t, policy);
    std::vector<typename Ops::Dot> d;
    for (std::int64_t o = 0; o < dims.out; ++o) {
      d.clear();
      for (const Slot& slot : slots) d.push_back(ops.dot_of(rows.value({t * dims.top_k + slot.j, o})));
      const ProfileTerms<Ops> terms = {shared.value({t, o}), slots, d, true};
      store(output, t * dims.out + o, profile_output(ops, profile, format_of(output.dtype), terms));
    }
  }
}

}  // namespace

Result<Tensor> declared_combine(const CombineInputs& inputs, Dtype output_dtype, const Arithmetic& arithmetic,
                                const Policy& policy) {
  const Result<CombineDims> dims = validate_combine(inputs);
  if (!dims.ok()) return dims.error();
  if (!is_float(output_dtype)) {
    return Error{"output", std::string(name_of(output_dtype)), "VAL-5: the output has a float dtype"};
  }
  if (Status error = check_arithmetic(arithmetic, {output_dtype, std::nullopt})) return *error;
  Tensor output(output_dtype, {dims->tokens, dims->out});
  const auto with = [&](const auto& ops) {
    combine_with(ops, inputs, *dims, arithmetic.profile, policy, output.mutable_view());
  };
  if (arithmetic.accumulation.kind == Accumulation::Kind::kExact) {
    with(ExactOps{});
  } else if (output_dtype == Dtype::kF64) {
    with(FloatOps<double>(arithmetic));
  } else {
    with(FloatOps<float>(arithmetic));
  }
  return output;
}

}  // namespace moe4
