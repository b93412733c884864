#include "tests/support/problems/check_property.h"

#include <rapidcheck.h>

#include <sstream>

namespace problems {
namespace {

template <class Problem>
std::string search(const rc::Gen<Problem>& generator,
                   const std::function<std::string(const Problem&)>& property, int count, bool shrink) {
  const auto testable = [&] {
    const Problem problem = *generator;
    const std::string complaint = property(problem);
    if (!complaint.empty()) {
      RC_FAIL(complaint);
    }
  };
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = count;
  params.disableShrinking = !shrink;
  const auto result = rc::detail::checkTestable(testable, rc::detail::TestMetadata(), params);
  if (result.template is<rc::detail::SuccessResult>()) {
    return "";
  }
  std::ostringstream report;
  rc::detail::printResultMessage(result, report);
  return report.str();
}

}  // namespace

std::string counterexample(const Property& property, int count, const Drawn& drawn, bool shrink) {
  return search(any_problem(drawn), property, count, shrink);
}

std::string rows_counterexample(const RowsProperty& property, int count, slow_model::RowsOp op,
                                slow_model::WeightFormat weights, bool shrink) {
  return search(any_rows(op, weights), property, count, shrink);
}

std::string combine_counterexample(const CombineProperty& property, int count, bool shrink) {
  return search(any_combine(), property, count, shrink);
}

}  // namespace problems
