// The reports of the shards of one gate, as one (moe4 merge).
#pragma once

#include <vector>

#include "oracle/gate/gate.h"

namespace moe4::oracle {

// An Error if they are not parts of one gate (another list, seed, tier, number of shards, subject or
// declaration), or if one shard is there twice; `names` says which report is which. A shard that is not there
// makes the result red. The floors are judged again, over the whole list.
Result<GateReport> merge_reports(const std::vector<GateReport>& parts, const std::vector<std::string>& names);

}  // namespace moe4::oracle
