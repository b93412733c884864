#include "tests/differential/compare.h"

#include <sstream>

#include "tests/support/reference_call/reference_call.h"

namespace differential {

std::string disagreement(const slow_model::ExpertLinear& model, const slow_model::Problem& problem) {
  const auto reference = reference_call::outputs(problem);
  if (!reference.ok()) {
    return "the reference refuses: " + reference.error().message();
  }
  const std::vector<std::uint64_t> slow = model.outputs(problem);
  if (reference->size() != slow.size()) {
    return "the reference gives another number of outputs";
  }
  for (std::size_t n = 0; n < slow.size(); ++n) {
    if (!slow_model::same_value(problem.output_format(), (*reference)[n], slow[n])) {
      std::ostringstream text;
      text << "output [" << n / static_cast<std::size_t>(problem.out) << ","
           << n % static_cast<std::size_t>(problem.out) << "]: slow model " << std::hex << slow[n]
           << ", reference " << (*reference)[n];
      return text.str();
    }
  }
  return "";
}

std::string disagreement(const slow_model::Problem& problem) {
  return disagreement(slow_model::ExpertLinear(), problem);
}

}  // namespace differential
