// A subject whose result a test decides: the norm, and then whatever the test does to it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "oracle/subject/subject.h"

namespace moe4::oracle {

class FakeSubject : public Subject {
 public:
  using Edit = std::function<void(const CaseData& data, SubjectRun& run)>;

  explicit FakeSubject(std::string name, Edit edit = {})
      : reference_(make_reference_subject()), edit_(std::move(edit)) {
    declaration_ = reference_->declaration();
    declaration_.name = std::move(name);
    // What a test does to an output is written for [T,O]; others say so.
    declaration_.ops = {Op::kExpertLinear};
    declaration_.weights = {WeightFormat::kMxfp4};
    declaration_.layouts.clear();
    declaration_.zero = ZeroCompare::kAny;
  }

  const Declaration& declaration() const override { return declaration_; }
  Declaration& mutable_declaration() { return declaration_; }

  SubjectRun run(const CaseData& data) override {
    ++runs;
    SubjectRun result = reference_->run(data);
    if (edit_) edit_(data, result);
    return result;
  }

  int runs = 0;

 private:
  std::unique_ptr<Subject> reference_;
  Edit edit_;
  Declaration declaration_;
};

// Flips the sign bit of the first element.
inline void break_first_output(const CaseData&, SubjectRun& run) {
  if (run.output.elements() == 0) return;
  run.output.data()[size_of(run.output.dtype()) - 1] ^= std::byte{0x80};
}

}  // namespace moe4::oracle
