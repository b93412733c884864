#include "gpu/ptx/run/collector.h"

#include <algorithm>
#include <utility>

#include "gpu/ptx/run/findings.h"

namespace moe4::ptx {

void Collector::add(Block::Result result) {
  report_.completed = report_.completed && result.finished;
  report_.path_hash += result.hash;
  instructions_ += result.instructions;
  report_.printed += result.printed.substr(0, kMaxPrinted - std::min(kMaxPrinted, report_.printed.size()));
  Counters& sum = report_.counters;
  const Counters& c = result.counters;
  sum.warp_instructions += c.warp_instructions;
  sum.thread_instructions += c.thread_instructions;
  sum.global_load_bytes += c.global_load_bytes;
  sum.global_store_bytes += c.global_store_bytes;
  sum.shared_load_bytes += c.shared_load_bytes;
  sum.shared_store_bytes += c.shared_store_bytes;
  sum.shared_bank_conflicts += c.shared_bank_conflicts;
  sum.barriers += c.barriers;
  sum.tensor_multiply_adds += c.tensor_multiply_adds;
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    const auto known = std::find(keys_.begin(), keys_.end(), result.keys[i]);
    if (known != keys_.end()) {
      report_.findings[static_cast<std::size_t>(known - keys_.begin())].count += result.findings[i].count;
    } else if (report_.findings.size() < options_.max_findings) {
      keys_.push_back(result.keys[i]);
      report_.findings.push_back(std::move(result.findings[i]));
    }
  }
}

void Collector::over_budget(Dim3 block) {
  report_.completed = false;
  Finding finding;
  finding.check = Check::kBudget;
  finding.kernel = run_.function->info.name;
  finding.message = "the launch used up its instruction budget";
  finding.place = place_of(*run_.program, *run_.function, 0);
  finding.place.block = block;
  report_.findings.push_back(std::move(finding));
}

}  // namespace moe4::ptx
