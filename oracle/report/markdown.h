// A gate report as Markdown, for a job summary or a merge request.
#pragma once

#include <string>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

std::string gate_markdown(const GateReport& report);

}  // namespace moe4::oracle
