#include <chrono>

#include "oracle/subject/subject.h"
#include "reference/linear/mxfp4_expert_linear.h"

namespace moe4::oracle {
namespace {

class ReferenceSubject : public Subject {
 public:
  ReferenceSubject() {
    declaration_.name = "reference";
    declaration_.dtypes = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
    declaration_.mixture_dtypes = declaration_.dtypes;
    declaration_.shared_dtypes = declaration_.dtypes;
    declaration_.ids_dtypes = {Dtype::kI32, Dtype::kI64};
    declaration_.any_policy = true;
    declaration_.profile = "once";
    // The norm adds exactly, so every order is true of it; this is the one with the narrowest intervals at
    // hand.
    declaration_.arithmetic.order.kind = Order::Kind::kSeq;
    declaration_.zero = ZeroCompare::kStrict;
  }

  const Declaration& declaration() const override { return declaration_; }

  SubjectRun run(const CaseData& data) override {
    SubjectRun result;
    const auto start = std::chrono::steady_clock::now();
    const ExpertLinearInputs inputs = data.inputs();
    Result<ExpertLinearDims> dims = validate_mxfp4_expert_linear(inputs, data.policy);
    if (!dims.ok()) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = dims.error().message();
      return result;
    }
    result.output = Tensor(inputs.latent_tokens.dtype, {dims->tokens, dims->out});
    if (Status status = mxfp4_expert_linear(inputs, result.output.mutable_view(), data.policy)) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = status->message();
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  Declaration declaration_;
};

}  // namespace

std::unique_ptr<Subject> make_reference_subject() { return std::make_unique<ReferenceSubject>(); }

}  // namespace moe4::oracle
