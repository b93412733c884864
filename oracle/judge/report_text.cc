#include "oracle/judge/report_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/case/output_rows.h"
#include "oracle/judge/encodings.h"
#include "oracle/judge/worked_sum.h"
#include "oracle/subject/arithmetic_words.h"
#include "reference/formats/e8m0.h"
#include "reference/formats/packed_codes.h"

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

std::vector<GroupBehind> groups_by_weight(const CaseData& data, const OutputRow& row, std::int64_t out) {
  const WeightReader reader(data.expert_weights(), data.policy);
  const Encodings tokens(data.latent_tokens.dtype());
  const FloatFormat format = format_of(data.latent_tokens.dtype());
  const std::int64_t in = in_of(data);
  std::vector<GroupBehind> groups;
  for (const Slot& slot : row.slots) {
    for (std::int64_t g = 0; g < in / kGroupSize; ++g) {
      const WeightGroup weights = reader.group(slot.expert, out, g);
      double sum = 0;
      for (int k = 0; k < kGroupSize; ++k) {
        const std::int64_t at = row.source * in + g * kGroupSize + k;
        const double w = magnitude_of(weights[k]);
        const double x = magnitude_of(decode_float(format, tokens.load(data.latent_tokens, at)));
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
  const WeightGroup group = WeightReader(data.expert_weights(), data.policy).group(expert, out, g);
  std::string text;
  for (std::size_t k = 0; k < group.code.size(); ++k) {
    if (k > 0 && k % 8 == 0) text += ' ';
    text += fmt::format("{:x}", group.code[k]);
  }
  return text;
}

std::string scale_text(const CaseData& data, std::int64_t expert, std::int64_t out, std::int64_t g) {
  const Tensor& scales = data.scale_tensor();
  const std::int64_t at = (expert * scales.dim(1) + out) * scales.dim(2) + g;
  if (data.weights == WeightFormat::kInt4) {
    const Encodings bf16(Dtype::kBF16);
    return bf16.text(bf16.load(scales, at));
  }
  const std::uint8_t byte = scales.as<std::uint8_t>()[static_cast<std::size_t>(at)];
  return byte == 255 ? "0xff" : fmt::format("0x{:02x} (2^{})", byte, byte - kE8M0Bias);
}

std::string p_text(const CaseData& data, const OutputRow& row, std::int64_t j) {
  const Encodings p(data.mixture_weights.dtype());
  return p.text(p.load(data.mixture_weights, row.row * data.mixture_weights.dim(1) + j));
}

// op=combine: the rows behind one output.
std::string rows_behind(const CaseData& data, const OutputRow& row, std::int64_t out) {
  const Encodings bf16(Dtype::kBF16);
  std::string text;
  for (const Slot& slot : row.slots) {
    const std::int64_t route = row.row * data.mixture_weights.dim(1) + slot.j;
    text += fmt::format("    slot {}: p {}, row {}: {}\n", slot.j, p_text(data, row, slot.j), route,
                        bf16.text(bf16.load(data.rows, route * data.rows.dim(1) + out)));
  }
  return text;
}

std::optional<OutputRow> find_row(const CaseData& data, std::int64_t row) {
  for (OutputRow& candidate : output_rows(data)) {
    if (candidate.row == row) return std::move(candidate);
  }
  return std::nullopt;
}

std::string mismatch_line(const Encodings& encodings, const Mismatch& m) {
  std::string due = encodings.text(m.expected_lo);
  if (m.expected_lo != m.expected_hi) due += " .. " + encodings.text(m.expected_hi);
  const std::string distance = std::isfinite(m.ulps) ? fmt::format("{:g} ulp", m.ulps) : "not a number";
  return fmt::format("    [{},{}]  expected {}  got {}  {}\n", m.row, m.out, due, encodings.text(m.got),
                     distance);
}

std::string arithmetic_text(const Declaration& declaration) {
  if (declaration.profile.empty()) return "declared: nothing";
  return "declared: " + arithmetic_words(declaration.arithmetic);
}

}  // namespace

std::string operands_behind(const CaseData& data, std::int64_t output_row, std::int64_t out) {
  const std::optional<OutputRow> row = find_row(data, output_row);
  if (!row) return "";
  if (data.op == Op::kCombine) return rows_behind(data, *row, out);
  const auto groups = groups_by_weight(data, *row, out);
  std::string text;
  for (std::size_t k = 0; k < std::min(groups.size(), kGroupsShown); ++k) {
    const auto& [slot, g, weight] = groups[k];
    const std::string who = is_row_op(data.op) ? fmt::format("expert {}", slot.expert)
                                               : fmt::format("slot {}: expert {}, p {}", slot.j, slot.expert,
                                                             p_text(data, *row, slot.j));
    text += fmt::format("    {}, row {}, group {}: scale {}, codes {}\n", who, out, g,
                        scale_text(data, slot.expert, out, g), codes_of(data, slot.expert, out, g));
  }
  if (groups.size() > kGroupsShown) {
    text += fmt::format("    (and {} groups that weigh less)\n", groups.size() - kGroupsShown);
  }
  return text;
}

std::string device_lines(const Verdict& verdict) {
  std::string text;
  if (!verdict.hardware.empty()) text += "  tensor cores of " + verdict.hardware + "\n";
  if (!verdict.approximate.empty()) {
    text += fmt::format("  depends on approximate instructions: {}\n", fmt::join(verdict.approximate, ", "));
  }
  return text;
}

std::string report_text(const CaseData& data, const Declaration& declaration, const Verdict& verdict) {
  std::string text = fmt::format("{}  {}\n", name_of(verdict.status), verdict.rule);
  if (!verdict.reason.empty()) text += "  " + verdict.reason + "\n";
  text += fmt::format("  {}; {}\n", declaration.name, arithmetic_text(declaration));
  text += device_lines(verdict);
  if (verdict.proof) {
    text += fmt::format("  proof: at most {:.6g} units of {:.6g}{}\n", verdict.proof->largest_units,
                        verdict.proof->limit_units, verdict.proof->proved ? "" : ": not exact");
  }
  text += fmt::format(
      "  {} outputs judged, {} wrong ({} NaN, {} Inf), {} unwritten{}; bits were due for {:.1f} %\n",
      verdict.outputs, verdict.mismatched, verdict.nan, verdict.inf, verdict.unwritten,
      verdict.stray == 0 ? "" : fmt::format(", {} written where nothing may be", verdict.stray),
      100 * verdict.singleton_share);
  if (verdict.bits_compared > 0) {
    text += fmt::format("  {} outputs held to the bits of the declared arithmetic, {} differ\n",
                        verdict.bits_compared, verdict.bits_differ);
  }
  if (!verdict.where.empty()) text += "  where\n";
  for (const std::string& line : verdict.where) text += "    " + line + "\n";
  if (!verdict.worst.empty()) {
    const Encodings encodings(output_shape(data).dtype);
    text += fmt::format("  worst, as [{},output]\n", is_row_op(data.op) ? "row" : "token");
    for (std::size_t k = 0; k < std::min(verdict.worst.size(), kWorstShown); ++k) {
      text += mismatch_line(encodings, verdict.worst[k]);
    }
    const Mismatch& first = verdict.worst.front();
    text += fmt::format("  behind [{},{}], codes in the order of i\n", first.row, first.out);
    text += operands_behind(data, first.row, first.out);
    text += worked_sum(data, first);
  }
  for (const DeviceFinding& finding : verdict.findings) {
    text += fmt::format("  device: {}\n    {}\n", finding.check, finding.text);
  }
  return text + verdict.fault;
}

}  // namespace moe4::oracle
