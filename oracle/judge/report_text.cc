#include "oracle/judge/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/judge/encodings.h"
#include "reference/formats/elements.h"
#include "reference/formats/packed_codes.h"
#include "reference/linear/weight.h"
#include "reference/routing/slots.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kGroupsShown = 4;
constexpr std::size_t kWorstShown = 8;

// NaN and Inf weigh most of all.
double magnitude_of(const ExactValue& v) {
  return v.is_finite() ? std::ldexp(static_cast<double>(v.significand), v.exponent)
                       : std::numeric_limits<double>::infinity();
}

struct GroupBehind {
  Slot slot;
  std::int64_t group;
  double weight;  // |p| · Σ |w x|, roughly
};

std::vector<GroupBehind> groups_by_weight(const CaseData& data, std::int64_t token, std::int64_t out) {
  const Elements<2> tokens(data.latent_tokens.view());
  const Elements<4> packed(data.packed_weights.view());
  const Elements<3> scales(data.scale_bytes.view());
  std::vector<GroupBehind> groups;
  for (const Slot& slot :
       contributing_slots(data.selected_experts.view(), data.mixture_weights.view(), token, data.policy)) {
    for (std::int64_t g = 0; g < data.scale_bytes.dim(2); ++g) {
      const E8M0Bits scale{static_cast<std::uint8_t>(scales.bits({slot.expert, out, g}))};
      const auto weights = weights_of_group(scale, data.policy);
      double sum = 0;
      for (int k = 0; k < kGroupSize; ++k) {
        const auto byte = static_cast<std::uint8_t>(packed.bits({slot.expert, out, g, byte_of_element(k)}));
        const double w = magnitude_of(weights[code_in_byte(byte, k).bits]);
        const double x = magnitude_of(tokens.value({token, g * kGroupSize + k}));
        if (w != 0 && x != 0) sum += w * x;
      }
      const double p = magnitude_of(slot.p);
      groups.push_back({slot, g, p == 0 ? 0.0 : p * sum});
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const GroupBehind& a, const GroupBehind& b) { return a.weight > b.weight; });
  return groups;
}

std::string codes_of(const CaseData& data, std::int64_t expert, std::int64_t out, std::int64_t g) {
  const Elements<4> packed(data.packed_weights.view());
  std::string text;
  for (int k = 0; k < kGroupSize; ++k) {
    const auto byte = static_cast<std::uint8_t>(packed.bits({expert, out, g, byte_of_element(k)}));
    if (k > 0 && k % 8 == 0) text += ' ';
    text += fmt::format("{:x}", code_in_byte(byte, k).bits);
  }
  return text;
}

std::string scale_text(std::uint8_t byte) {
  return byte == 255 ? "0xff" : fmt::format("0x{:02x} (2^{})", byte, byte - kE8M0Bias);
}

std::string mismatch_line(const Encodings& encodings, const Mismatch& m) {
  std::string due = encodings.text(m.expected_lo);
  if (m.expected_lo != m.expected_hi) due += " .. " + encodings.text(m.expected_hi);
  const std::string distance = std::isfinite(m.ulps) ? fmt::format("{:g} ulp", m.ulps) : "not a number";
  return fmt::format("    [{},{}]  expected {}  got {}  {}\n", m.token, m.out, due, encodings.text(m.got),
                     distance);
}

std::string arithmetic_text(const Declaration& declaration) {
  if (declaration.profile.empty()) return "declared: nothing";
  return fmt::format("declared: profile {}, order {}, products {}{}", declaration.profile,
                     to_string(declaration.arithmetic.order),
                     declaration.arithmetic.product_rounded ? "rounded" : "fma",
                     declaration.arithmetic.ftz ? ", ftz" : "");
}

}  // namespace

std::string operands_behind(const CaseData& data, std::int64_t token, std::int64_t out) {
  const Encodings p(data.mixture_weights.dtype());
  const auto groups = groups_by_weight(data, token, out);
  std::string text;
  for (std::size_t k = 0; k < std::min(groups.size(), kGroupsShown); ++k) {
    const auto& [slot, g, weight] = groups[k];
    const auto byte =
        static_cast<std::uint8_t>(Elements<3>(data.scale_bytes.view()).bits({slot.expert, out, g}));
    const std::int64_t flat = token * data.mixture_weights.dim(1) + slot.j;
    text += fmt::format("    slot {}: expert {}, p {}, row {}, group {}: scale {}, codes {}\n", slot.j,
                        slot.expert, p.text(p.load(data.mixture_weights, flat)), out, g, scale_text(byte),
                        codes_of(data, slot.expert, out, g));
  }
  if (groups.size() > kGroupsShown) {
    text += fmt::format("    (and {} groups that weigh less)\n", groups.size() - kGroupsShown);
  }
  return text;
}

std::string report_text(const CaseData& data, const Declaration& declaration, const Verdict& verdict) {
  std::string text = fmt::format("{}  {}\n", name_of(verdict.status), verdict.rule);
  if (!verdict.reason.empty()) text += "  " + verdict.reason + "\n";
  text += fmt::format("  {}; {}\n", declaration.name, arithmetic_text(declaration));
  if (verdict.proof) {
    text += fmt::format("  proof: at most {:.6g} units of {:.6g}{}\n", verdict.proof->largest_units,
                        verdict.proof->limit_units, verdict.proof->proved ? "" : ": not exact");
  }
  text += fmt::format(
      "  {} outputs judged, {} wrong ({} NaN, {} Inf), {} unwritten; bits were due for {:.1f} %\n",
      verdict.outputs, verdict.mismatched, verdict.nan, verdict.inf, verdict.unwritten,
      100 * verdict.singleton_share);
  if (!verdict.where.empty()) text += "  where\n";
  for (const std::string& line : verdict.where) text += "    " + line + "\n";
  if (!verdict.worst.empty()) {
    const Encodings encodings(data.latent_tokens.dtype());
    text += "  worst, as [token,output]\n";
    for (std::size_t k = 0; k < std::min(verdict.worst.size(), kWorstShown); ++k) {
      text += mismatch_line(encodings, verdict.worst[k]);
    }
    const Mismatch& first = verdict.worst.front();
    text += fmt::format("  behind [{},{}], codes in the order of i\n", first.token, first.out);
    text += operands_behind(data, first.token, first.out);
  }
  for (const DeviceFinding& finding : verdict.findings) {
    text += fmt::format("  device: {}\n    {}\n", finding.check, finding.text);
  }
  return text;
}

}  // namespace moe4::oracle
