// --tier NAME.
#pragma once

#include <string>

#include "oracle/gate/tiers.h"
#include "reference/status.h"

namespace moe4::oracle::cli {

// An unknown name is an Error with the nearest known one.
Result<const Tier*> tier_named(const std::string& name);

}  // namespace moe4::oracle::cli
