#include "tests/support/problems/check_property.h"

#include <rapidcheck.h>

#include <sstream>

namespace problems {

std::string counterexample(const Property& property, int count, const Drawn& drawn, bool shrink) {
  const rc::Gen<slow_model::Problem> generator = any_problem(drawn);
  const auto testable = [&] {
    const slow_model::Problem problem = *generator;
    const std::string complaint = property(problem);
    if (!complaint.empty()) {
      RC_FAIL(complaint);
    }
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = count;
  params.disableShrinking = !shrink;
  const auto result = rc::detail::checkTestable(testable, rc::detail::TestMetadata(), params);
  if (result.is<rc::detail::SuccessResult>()) {
    return "";
  }
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  return report.str();
}

}  // namespace problems
