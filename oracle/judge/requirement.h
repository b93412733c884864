// What a case asks of a subject with this declaration (VER-3, VER-4, VER-8, VER-16, VER-17), worked out
// before any run is looked at.
#pragma once

#include <optional>
#include <string>

#include "oracle/judge/compare.h"
#include "oracle/judge/declared_bits.h"

namespace moe4::oracle {

// How a run ends whose values cannot be judged, unless it has FAILED by something else.
struct Unjudged {
  VerdictStatus status = VerdictStatus::kMistrusted;
  std::string reason;
};

struct Requirement {
  std::string rule;                  // "VER-3: bits equal the norm's (exact24)"
  Status refused;                    // the reference refuses the case; nothing else is set then
  std::optional<ExactProof> proof;   // VER-3
  std::optional<Unjudged> unjudged;  // the fill is not exact, or nothing bounds or evaluates the arithmetic
  Due due;
  CompareRules rules;
  Coverage coverage;
  std::optional<DeclaredBits> bits;  // VER-17
  std::string bits_rule;
};

Requirement requirement_of(const CaseData& data, const Declaration& declaration);

}  // namespace moe4::oracle
