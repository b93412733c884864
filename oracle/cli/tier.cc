#include "oracle/cli/tier.h"

#include "oracle/case/nearest.h"

namespace moe4::oracle::cli {

Result<const Tier*> tier_named(const std::string& name) {
  if (const Tier* tier = find_tier(name)) return tier;
  std::vector<std::string> known;
  for (const Tier& tier : tiers()) known.emplace_back(tier.name);
  return Error{"tier", name, "unknown; the nearest known one is " + nearest_name(name, known)};
}

}  // namespace moe4::oracle::cli
