#include "tests/support/reference_call/declared_call.h"

#include "reference/profile/declared_combine.h"
#include "reference/profile/declared_linear.h"
#include "reference/profile/declared_rows.h"
#include "tests/support/reference_call/contract_call.h"
#include "tests/support/reference_call/reference_call.h"

namespace reference_call {

moe4::Result<Encodings> declared(const slow_model::Problem& problem, const moe4::Arithmetic& arithmetic) {
  const Tensors tensors(problem);
  const moe4::LinearInputs inputs = problem.weights == slow_model::WeightFormat::kInt4
                                        ? tensors.int4_inputs()
                                        : moe4::linear_inputs(tensors.inputs());
  const auto output = moe4::declared_expert_linear(inputs, arithmetic, policy_of(problem.policy));
  if (!output.ok()) return output.error();
  return bits_of(*output);
}

moe4::Result<slow_model::RowsOutcome> declared(const slow_model::RowsProblem& problem,
                                               const moe4::Arithmetic& arithmetic) {
  const RowsTensors in(problem);
  const moe4::Policy policy = policy_of(problem.policy);
  const auto result = [&]() -> moe4::Result<moe4::RowsResult> {
    switch (problem.op) {
      case slow_model::RowsOp::kIndexed:
        return moe4::declared_indexed(in.indexed(problem), arithmetic, policy);
      case slow_model::RowsOp::kGroupedContiguous:
        return moe4::declared_grouped_contiguous(in.grouped_contiguous(), arithmetic, policy);
      case slow_model::RowsOp::kGroupedMasked:
        break;
    }
    return moe4::declared_grouped_masked(in.grouped_masked(problem), arithmetic, policy);
  }();
  if (!result.ok()) return result.error();
  return slow_model::RowsOutcome{bits_of(result->output), result->written};
}

moe4::Result<Encodings> declared(const slow_model::CombineProblem& problem,
                                 const moe4::Arithmetic& arithmetic) {
  const CombineTensors in(problem);
  const auto output = moe4::declared_combine(in.inputs(), dtype_of(problem.output_format), arithmetic,
                                             policy_of(problem.policy));
  if (!output.ok()) return output.error();
  return bits_of(*output);
}

}  // namespace reference_call
