#include "tests/differential/compare_contracts.h"

#include <sstream>

#include "tests/support/reference_call/contract_call.h"
#include "tests/support/slow_model/expert_linear.h"

namespace differential {
namespace {

using slow_model::FloatFormat;
using slow_model::RowsOutcome;

std::string first_difference(const FloatFormat& format, const std::vector<std::uint64_t>& slow,
                             const std::vector<std::uint64_t>& reference, std::int64_t out) {
  if (slow.size() != reference.size()) return "the reference gives another number of outputs";
  for (std::size_t n = 0; n < slow.size(); ++n) {
    if (!slow_model::same_value(format, reference[n], slow[n])) {
      std::ostringstream text;
      text << "output [" << n / static_cast<std::size_t>(out) << "," << n % static_cast<std::size_t>(out)
           << "]: slow model " << std::hex << slow[n] << ", reference " << reference[n];
      return text.str();
    }
  }
  return "";
}

std::string first_difference(const RowsOutcome& slow, const RowsOutcome& reference, std::int64_t out) {
  if (slow.written.size() != reference.written.size()) return "`written` has another number of rows";
  for (std::size_t r = 0; r < slow.written.size(); ++r) {
    if (slow.written[r] != reference.written[r]) {
      return "row " + std::to_string(r) + ": written is " + std::to_string(reference.written[r]) +
             ", by the slow model " + std::to_string(slow.written[r]);
    }
  }
  return first_difference(slow_model::kBf16, slow.output, reference.output, out);
}

}  // namespace

std::string disagreement(const slow_model::Rows& model, const slow_model::RowsProblem& problem) {
  constexpr std::uint16_t kBefore = 0x5A5A;  // no NaN, so that bits are compared
  const auto reference = reference_call::rows(problem, kBefore);
  if (!reference.ok()) return "the reference refuses: " + reference.error().message();
  RowsOutcome expected = model.outputs(problem, kBefore);
  const std::string difference = first_difference(expected, *reference, problem.out);
  if (!difference.empty()) return difference;
  const auto allocated = reference_call::rows_allocated(problem);
  if (!allocated.ok()) return "allocating, the reference refuses: " + allocated.error().message();
  for (std::size_t n = 0; n < expected.output.size(); ++n) {  // RTE-3: zero bytes where nothing is written
    if (expected.written[n / static_cast<std::size_t>(problem.out)] == 0) expected.output[n] = 0;
  }
  const std::string second = first_difference(expected, *allocated, problem.out);
  return second.empty() ? "" : "allocating, " + second;
}

std::string disagreement(const slow_model::Combine& model, const slow_model::CombineProblem& problem) {
  const auto reference = reference_call::combine(problem);
  if (!reference.ok()) return "the reference refuses: " + reference.error().message();
  const std::string difference =
      first_difference(problem.output_format, model.outputs(problem), *reference, problem.out);
  if (!difference.empty()) return difference;
  const auto allocated = reference_call::combine_allocated(problem);
  if (!allocated.ok()) return "allocating, the reference refuses: " + allocated.error().message();
  return *allocated == *reference ? "" : "allocating gives other bits";
}

}  // namespace differential
