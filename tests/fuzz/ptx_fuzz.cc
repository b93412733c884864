// Any text is a module or an error with a message; a module can be studied and mutated, and each of its
// entries runs within a small budget or is refused.
#include <cstdlib>

#include "gpu/ptx/mutate/mutant.h"
#include "gpu/ptx/ptx.h"
#include "gpu/ptx/study/study.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moe4::ptx;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Error error;
  const std::optional<Module> module = Module::parse(text, "fuzz", &error);
  if (!module) {
    require(!error.message.empty());
    return 0;
  }
  if (const auto mutants = mutants_of(text, "", nullptr)) {
    for (const Mutant& mutant : *mutants) require(mutant.begin <= mutant.end && mutant.end <= size);
  }
  for (const EntryInfo& entry : module->entries()) {
    require(study(text, entry.name, nullptr).has_value());
    if (!entry.unsupported.empty() || entry.parameter_bytes > 4096) continue;
    Memory memory;
    const std::uint64_t buffer = memory.add_zeroed("buffer", 256);
    Launch launch;
    launch.entry = entry.name;
    launch.grid = {2, 1, 1};
    launch.block = {64, 1, 1};
    launch.parameters.resize(entry.parameter_bytes);
    for (std::size_t n = 0; n < 8 && n < launch.parameters.size(); ++n) {
      launch.parameters[n] = static_cast<std::byte>(buffer >> (8 * n));
    }
    Options options;
    options.instruction_budget = 2000;
    options.host_threads = 1;
    const LaunchReport report = moe4::ptx::launch(*module, memory, launch, options);
    require(report.error || report.completed || !report.findings.empty());
  }
  return 0;
}
