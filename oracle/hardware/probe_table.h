// The text of fixtures/hardware/probes/instructions.probes; made of probe_table.cc.in when the build is
// configured.
#pragma once

namespace moe4::oracle {

extern const char* const kProbeTable;

}  // namespace moe4::oracle
