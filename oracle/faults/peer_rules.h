// Comparison rules that public test suites use, so that what they miss can be measured beside ours
// (docs/faults.md). None of them judges anything here.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace moe4::oracle {

struct PeerRule {
  std::string_view name;
  std::string_view meaning;
  bool (*passes)(std::span<const double> right, std::span<const double> got);
};

inline constexpr std::size_t kPeerRules = 6;
const std::array<PeerRule, kPeerRules>& peer_rules();

}  // namespace moe4::oracle
