// The case lists of fixtures/lists, built into the library, each with the floors that belong to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oracle/gate/hold_cases.h"
#include "oracle/gate/tally.h"

namespace moe4::oracle {

struct Tier {
  std::string_view name;  // "smoke", "ci", "nightly"
  std::string_view list;  // fixtures/regressions/found.cases, then fixtures/lists/NAME.cases
  std::string_view purpose;
  Floors floors;
  HoldCases hold = HoldCases::kFew;
  bool pairs = false;   // after the list the pairwise covers of the subjects
  bool rounds = false;  // after that, new data until the time is up
};

const std::vector<Tier>& tiers();

// nullptr if there is none of that name.
const Tier* find_tier(std::string_view name);

}  // namespace moe4::oracle
