// The program that runs a plug-in: moe4 plugin-host LIB CASES RESULTS, started by a plug-in subject and by
// nobody else.
#pragma once

#include <string>

#include "reference/status.h"

namespace moe4::oracle {

// Computes every case file of the folder with the library, as any program that is a subject does
// (docs/command_subject.md). deterministic: it is declared to be so, and a second call with other bits is a
// failure. The library can do what it likes to this process. An Error: it cannot be loaded,
// it is built for another version of the interface, a file cannot be read or written.
Status host_plugin(const std::string& library, const std::string& cases, const std::string& results,
                   bool deterministic);

}  // namespace moe4::oracle
