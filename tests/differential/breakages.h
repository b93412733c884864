// Calls of the reference that break a rule of docs/spec/validation.md, one edit each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/reference_call/reference_call.h"
#include "tests/support/slow_model/validity.h"

namespace differential {

// A call that can be bent. The views point into tensors and output until an edit changes them.
struct Call {
  reference_call::Tensors tensors;
  moe4::Tensor output;
  moe4::ExpertLinearInputs inputs;
  moe4::MutableTensorView out;
  moe4::Policy policy;

  explicit Call(const slow_model::Problem& problem);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

// The call as the slow model's validity predicate sees it. The ids are read from the tensors, unless the view
// has no data.
slow_model::CallDescription describe(const Call& call);

struct Breakage {
  std::string name;  // begins with the rule that it breaks in an otherwise valid call
  std::function<void(Call&)> apply;

  std::string rule() const { return name.substr(0, name.find(' ')); }
};

// Needs a call with at least one token, slot and output.
std::vector<Breakage> breakages();

}  // namespace differential
