// A gate report as one HTML page that needs nothing else: no script, no network, light and dark.
#pragma once

#include <string>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

// Each failure with a picture of its wrong outputs (oracle/judge/picture.h), clusters framed.
std::string gate_html(const GateReport& report);

}  // namespace moe4::oracle
