// Reports for machines (docs/cli.md, "JSON").
#pragma once

#include <string>
#include <string_view>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

inline constexpr int kReportVersion = 2;

// A gate report; one object, two blanks of indentation, a newline at the end.
std::string gate_json(const GateReport& report);

// What gate_json wrote, read again. Input is hostile: an Error names the field. Not kept: `worst`, `proof`,
// and the texts of findings of single verdicts; their failure blocks hold them.
Result<GateReport> parse_gate_json(std::string_view text);

// One verdict: `moe4 check --json`. The encodings are hex strings of the output dtype's width.
std::string verdict_json(const Verdict& verdict, Dtype output);

}  // namespace moe4::oracle
