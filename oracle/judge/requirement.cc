#include "oracle/judge/requirement.h"

#include <fmt/format.h>

#include "oracle/case/norm.h"
#include "oracle/generate/generate.h"
#include "oracle/judge/coverage.h"
#include "oracle/judge/due.h"
#include "oracle/subject/arithmetic_words.h"

namespace moe4::oracle {
namespace {

// 8 or 24 for an exact fill, 0 for others.
int exact_bits(const CaseData& data) {
  if (!data.line) return 0;
  if (data.line->fill == Fill::kExact8) return 8;
  if (data.line->fill == Fill::kExact24) return 24;
  return 0;
}

// VER-20; a case without a line names no chip.
Arithmetic declared_on(const Declaration& declaration, const CaseData& data) {
  return data.line ? arithmetic_on(declaration, *data.line) : declaration.arithmetic;
}

// VER-8.
Arithmetic arithmetic_of(const Declaration& declaration, const CaseData& data) {
  if (!declaration.profile.empty()) return declared_on(declaration, data);
  Arithmetic undeclared;
  undeclared.product_rounded = true;
  return undeclared;
}

// VER-3: is this the arithmetic for which the proof gives the norm's bits?
bool norm_is_due(const Arithmetic& arithmetic, int bits) {
  if (bits == 0 || arithmetic.ftz || arithmetic.dequant != Int4Order::kNorm) return false;
  const bool rounds_on_the_way =
      arithmetic.profile != RoundingProfile::kOnce || arithmetic.order.slicing == Order::Slicing::kStreamK;
  return bits == 8 || !rounds_on_the_way;
}

CompareRules rules_of(const CaseData& data, const Declaration& declaration) {
  CompareRules rules;
  rules.strict_zero = data.policy.zero == ZeroCompare::kStrict || declaration.zero == ZeroCompare::kStrict;
  rules.skip_nonfinite = !declaration.nonfinite_ieee;
  return rules;
}

// VER-3.
void require_norm(const CaseData& data, int bits, Requirement& requirement) {
  requirement.rule = fmt::format("VER-3: bits equal the norm's (exact{})", bits);
  requirement.proof = prove_exact(data, bits);
  if (requirement.proof->proved) return;
  requirement.unjudged = {VerdictStatus::kNotExact,
                          fmt::format("the fill is not exact: {:.6g} units, the limit is {:.6g}",
                                      requirement.proof->largest_units, requirement.proof->limit_units)};
}

// VER-17. The exact fills ask for the norm's bits, which every arithmetic gives there.
Status require_bits(const CaseData& data, const Declaration& declaration, Requirement& requirement) {
  if (const std::optional<std::string> reason = bits_undetermined(declaration)) {
    return Error{"bits", "declared", *reason};
  }
  const Arithmetic arithmetic = declared_on(declaration, data);
  Result<DeclaredBits> bits = declared_bits(data, arithmetic, requirement.due);
  if (!bits.ok()) return bits.error();
  requirement.bits = std::move(*bits);
  requirement.bits_rule =
      "VER-17: the bits of the declared arithmetic (" + arithmetic_words(arithmetic) + ")";
  return {};
}

}  // namespace

Requirement requirement_of(const CaseData& data, const Declaration& declaration) {
  Requirement requirement;
  requirement.rules = rules_of(data, declaration);
  if (const Status error = validate(data)) {
    requirement.rule = "VAL: the case itself";
    requirement.refused = error;
    return requirement;
  }
  const int bits = exact_bits(data);
  const Arithmetic arithmetic = arithmetic_of(declaration, data);
  const bool exact = norm_is_due(arithmetic, bits);
  const bool any_unit = declaration.profile.empty() || declaration.any_accumulation;
  if (exact) {
    require_norm(data, bits, requirement);
    if (requirement.unjudged) return requirement;
  } else {
    requirement.rule = "VER-4: inside the proved interval (" + arithmetic_words(arithmetic) +
                       (any_unit ? ", accumulation=any)" : ")");
  }
  Result<Due> due = exact      ? bits_due(data)
                    : any_unit ? interval_due_of_any_unit(data, arithmetic)
                               : interval_due(data, arithmetic);
  if (!due.ok()) {
    requirement.unjudged = {VerdictStatus::kMistrusted, "VER-8: no bound: " + due.error().message()};
    return requirement;
  }
  requirement.due = std::move(*due);
  requirement.coverage = cover(data, requirement.due, exact, requirement.rules);
  if (declaration.bits_declared && !exact) {
    if (const Status error = require_bits(data, declaration, requirement)) {
      requirement.unjudged = {VerdictStatus::kMistrusted, "VER-17: no bits: " + error->message()};
    }
  }
  return requirement;
}

}  // namespace moe4::oracle
