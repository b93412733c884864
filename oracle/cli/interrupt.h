// SIGINT and SIGTERM: a command that works case by case ends after the case in flight and reports what was
// done; every other one ends at once and leaves nothing half-written.
#pragma once

namespace moe4::oracle::cli {

// Called once, before any work.
void watch_for_interrupts();

// From here on the first signal only makes interrupted() true; a second one ends the process at once.
void finish_case_when_interrupted();
bool interrupted();

// "interrupted by SIGINT"; empty if not.
const char* interruption();

}  // namespace moe4::oracle::cli
