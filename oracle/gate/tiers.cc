#include "oracle/gate/tiers.h"

#include "oracle/gate/lists.h"

namespace moe4::oracle {
namespace {

Floors floors(std::int64_t pairs) {
  Floors f;
  f.pairs = pairs;
  f.every_op = f.every_fill = f.every_routing = f.every_tail = f.every_layout = true;
  f.ran_share = 1;
  f.real_singletons = 0.6;
  return f;
}

}  // namespace

const std::vector<Tier>& tiers() {
  static const std::vector<Tier> kTiers = {
      {"smoke", kSmokeList, "every fill and routing at small shapes, before every commit", floors(2560)},
      {"ci", kCiList, "more shapes and seeds, and pairwise covers, for every change that is merged",
       floors(3840), HoldCases::kEachRouting, true},
      {"nightly", kNightlyList, "large shapes, many seeds, then new data until the time is up", floors(3840),
       HoldCases::kEachRouting, true, true},
  };
  return kTiers;
}

const Tier* find_tier(std::string_view name) {
  for (const Tier& tier : tiers()) {
    if (tier.name == name) return &tier;
  }
  return nullptr;
}

}  // namespace moe4::oracle
