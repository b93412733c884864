#include <chrono>

#include "oracle/case/norm.h"
#include "oracle/case/words.h"
#include "oracle/subject/subject.h"

namespace moe4::oracle {
namespace {

// The weights as they come out of the layout that the case asks for: what is wrong with the packing then
// shows in the output.
Result<CaseData> unpacked(const CaseData& data) {
  CaseData own = data;
  Result<WeightTensors> weights = unpack(*data.layout, data.packed.views());
  if (!weights.ok()) return weights.error();
  own.packed_weights = std::move(weights->codes);
  own.scale_tensor() = std::move(weights->scales);
  return own;
}

class ReferenceSubject : public Subject {
 public:
  ReferenceSubject() {
    declaration_.name = "reference";
    declaration_.ops = all_ops();
    declaration_.weights = {WeightFormat::kMxfp4, WeightFormat::kInt4};
    declaration_.layouts = layout_words();
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
    const auto start = std::chrono::steady_clock::now();
    SubjectRun result;
    if (Status error = compute(data, result)) {
      result.outcome = SubjectRun::Outcome::kError;
      result.reason = error->message();
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  static Status compute(const CaseData& data, SubjectRun& result) {
    if (data.layout != nullptr) {
      const Result<CaseData> own = unpacked(data);
      if (!own.ok()) return own.error();
      return compute_norm(*own, result);
    }
    return compute_norm(data, result);
  }

  static Status compute_norm(const CaseData& data, SubjectRun& result) {
    Result<Norm> norm = norm_result(data);
    if (!norm.ok()) return norm.error();
    result.output = std::move(norm->output);
    result.written = std::move(norm->written);
    return {};
  }

  Declaration declaration_;
};

}  // namespace

std::unique_ptr<Subject> make_reference_subject() { return std::make_unique<ReferenceSubject>(); }

}  // namespace moe4::oracle
