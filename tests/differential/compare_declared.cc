#include "tests/differential/compare_declared.h"

#include <sstream>

#include "tests/support/reference_call/declared_call.h"
#include "tests/support/slow_model/expert_linear.h"

namespace differential {
namespace {

using namespace slow_model;

std::string first_difference(const FloatFormat& format, const std::vector<std::uint64_t>& slow,
                             const std::vector<std::uint64_t>& reference) {
  if (slow.size() != reference.size()) return "the reference gives another number of outputs";
  for (std::size_t n = 0; n < slow.size(); ++n) {
    if (!same_value(format, reference[n], slow[n])) {
      std::ostringstream text;
      text << "output " << n << ": slow model " << std::hex << slow[n] << ", reference " << reference[n];
      return text.str();
    }
  }
  return "";
}

// compare: from the reference's result, "" or a difference. Adds the arithmetic to what is said.
template <class Problem, class Compare>
std::string disagreement_of(const DeclaredArithmetic& arithmetic, const Problem& problem, bool is_refused,
                            const Compare& compare) {
  const auto parsed = moe4::parse_arithmetic(text_of(arithmetic));
  if (!parsed.ok()) return parsed.error().message();
  const auto reference = reference_call::declared(problem, *parsed);
  std::string difference;
  if (!reference.ok()) {
    if (is_refused) return "";
    difference = "the reference refuses: " + reference.error().message();
  } else if (is_refused) {
    difference = "the reference does not refuse";
  } else {
    difference = compare(*reference);
  }
  return difference.empty() ? "" : text_of(arithmetic) + ": " + difference;
}

}  // namespace

std::shared_ptr<const Declared> declared_model(const DeclaredArithmetic& arithmetic) {
  return std::make_shared<Declared>(arithmetic);
}

std::string disagreement(const DeclaredModel& model, const DeclaredArithmetic& arithmetic,
                         const Problem& problem) {
  return disagreement_of(arithmetic, problem, refused(arithmetic, problem), [&](const auto& reference) {
    return first_difference(problem.output_format(), model(arithmetic)->expert_linear(problem), reference);
  });
}

std::string disagreement(const DeclaredModel& model, const DeclaredArithmetic& arithmetic,
                         const RowsProblem& problem) {
  return disagreement_of(arithmetic, problem, refused(arithmetic, problem), [&](const auto& reference) {
    const RowsOutcome slow = model(arithmetic)->rows(problem, 0);
    if (slow.written != reference.written) return std::string("`written` differs");
    return first_difference(kBf16, slow.output, reference.output);
  });
}

std::string disagreement(const DeclaredModel& model, const DeclaredArithmetic& arithmetic,
                         const CombineProblem& problem) {
  return disagreement_of(arithmetic, problem, refused_for_combine(arithmetic), [&](const auto& reference) {
    return first_difference(problem.output_format, model(arithmetic)->combine(problem), reference);
  });
}

}  // namespace differential
