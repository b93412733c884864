// Reports for machines (docs/cli.md, "JSON").
#pragma once

#include <string>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

// A gate report; one object, two blanks of indentation, a newline at the end.
std::string gate_json(const GateReport& report);

// One verdict: `moe4 check --json`. The encodings are hex strings of the output dtype's width.
std::string verdict_json(const Verdict& verdict, Dtype output);

}  // namespace moe4::oracle
