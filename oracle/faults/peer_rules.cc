#include "oracle/faults/peer_rules.h"

#include <cmath>

namespace moe4::oracle {
namespace {

using Numbers = std::span<const double>;

// Σ (got - right)² / Σ right².
double nmse(Numbers right, Numbers got) {
  double error = 0, power = 0;
  for (std::size_t k = 0; k < right.size(); ++k) {
    error += (got[k] - right[k]) * (got[k] - right[k]);
    power += right[k] * right[k];
  }
  return error == 0 ? 0 : error / power;
}

// 1 - 2 Σ right·got / Σ (right² + got²).
double calc_diff(Numbers right, Numbers got) {
  double both = 0, power = 0;
  for (std::size_t k = 0; k < right.size(); ++k) {
    both += right[k] * got[k];
    power += right[k] * right[k] + got[k] * got[k];
  }
  return power == 0 ? 0 : 1 - 2 * both / power;
}

// |got - right| <= atol + rtol·|right|, all of them.
bool close(Numbers right, Numbers got, double atol, double rtol) {
  for (std::size_t k = 0; k < right.size(); ++k) {
    if (got[k] == right[k] || (std::isnan(got[k]) && std::isnan(right[k]))) continue;
    if (!(std::abs(got[k] - right[k]) <= atol + rtol * std::abs(right[k]))) return false;
  }
  return true;
}

}  // namespace

const std::array<PeerRule, kPeerRules>& peer_rules() {
  static constexpr std::array<PeerRule, kPeerRules> kRules = {{
      {"nmse 5e-4", "normalised mean square error below 5e-4",
       [](Numbers r, Numbers g) { return nmse(r, g) < 5e-4; }},
      {"diff 1e-3", "1 - 2·xy/(xx + yy) below 1e-3",
       [](Numbers r, Numbers g) { return calc_diff(r, g) < 1e-3; }},
      {"diff 1e-2", "1 - 2·xy/(xx + yy) below 1e-2",
       [](Numbers r, Numbers g) { return calc_diff(r, g) < 1e-2; }},
      {"1e-2/1e-2", "all within atol 1e-2 + rtol 1e-2",
       [](Numbers r, Numbers g) { return close(r, g, 1e-2, 1e-2); }},
      {"2e-2/0", "all within atol 2e-2", [](Numbers r, Numbers g) { return close(r, g, 2e-2, 0); }},
      {"0.05/0.1", "all within atol 0.05 + rtol 0.1",
       [](Numbers r, Numbers g) { return close(r, g, 0.05, 0.1); }},
  }};
  return kRules;
}

}  // namespace moe4::oracle
