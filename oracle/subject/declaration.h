// What a subject says of itself: one JSON schema for our kernels, plug-ins, commands and PTX
// (docs/declaration.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oracle/case/case.h"
#include "oracle/subject/arithmetic_words.h"
#include "oracle/subject/launch_declaration.h"
#include "reference/profile/arithmetic.h"

namespace moe4::oracle {

struct Declaration {
  std::string name;
  std::vector<Op> ops = {Op::kExpertLinear};
  std::vector<WeightFormat> weights = {WeightFormat::kMxfp4};
  // What it accepts. Generators draw only this; a case outside is UNSUPPORTED.
  // An empty shared_dtypes means: always the dtype of the tokens.
  std::vector<Dtype> dtypes, mixture_dtypes, shared_dtypes, ids_dtypes;
  std::int64_t in_multiple = 32, in_max = std::int64_t{1} << 40;
  std::int64_t out_multiple = 1, out_max = std::int64_t{1} << 40;
  std::int64_t tokens_max = std::int64_t{1} << 40, experts_max = std::int64_t{1} << 40,
               top_k_max = std::int64_t{1} << 40;
  std::vector<std::string> layouts;                   // of weights; empty: that of case files (LAY-5, LAY-8)
  std::vector<std::int64_t> block_m;                  // indexed, grouped_contiguous; empty: any
  std::int64_t max_m_multiple = 1;                    // grouped_masked
  std::int64_t capacity_max = std::int64_t{1} << 40;  // indexed, grouped_contiguous
  Policy policy;            // the corner policies it follows; `zero` of it is not used
  bool any_policy = false;  // it follows whatever policy a case names (the reference does)
  // What it computes.
  std::string profile;  // as in arithmetic; empty: undeclared
  Arithmetic arithmetic;
  bool any_accumulation = false;  // "accumulation": "any": judged for every unit, its own unused (VER-16)
  bool bits_declared = false;  // "bits": "declared": its outputs have the declared arithmetic's bits (VER-17)
  ZeroCompare zero = ZeroCompare::kAny;
  bool nonfinite_ieee = true;               // "nonfinite": "ieee" or "unspecified"
  bool deterministic = true;                // two runs of one case give the same bits (VER-18)
  bool invariant = false;                   // an output does not depend on what else is in the call (VER-19)
  std::optional<LaunchDeclaration> launch;  // of a PTX file

  bool takes(Op op) const;
  bool takes(WeightFormat format) const;
  // Nothing, or why this case is outside of what is accepted.
  std::optional<std::string> refuses(const Case& c) const;
};

// VER-17: why the declaration does not determine the bits of an output; nothing if it does.
std::optional<std::string> bits_undetermined(const Declaration& declaration);

// VER-20: what it computes in this case. hardware= takes the place of a declared generation of tensor cores.
Arithmetic arithmetic_on(const Declaration& declaration, const Case& c);

// The schema's version; a declaration of another version is refused.
inline constexpr int kDeclarationSchema = 1;

// Strict: an unknown, repeated, missing or ill-typed field is an Error that names it (and, when unknown, the
// nearest known one). The values' meaning and defaults: docs/declaration.md.
Result<Declaration> parse_declaration(std::string_view json);

// Every field, defaults included; parse_declaration(to_json(d)) gives d again.
std::string to_json(const Declaration& declaration);

// The names of all fields, in the order in which to_json writes them.
std::vector<std::string> declaration_fields();

}  // namespace moe4::oracle
