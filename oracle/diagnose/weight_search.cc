#include "oracle/diagnose/weight_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/linear/expert_weights.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kRowsAsked = 3;
constexpr std::size_t kMostSites = 32;

double to_double(const ExactValue& v) {
  if (!v.is_finite()) return std::nan("");
  const double size = std::ldexp(static_cast<double>(v.significand), v.exponent);
  return v.negative ? -size : size;
}

// A wrong output, and what it is made of.
struct WrongRow {
  const OutputRow* row;
  WrongOutputs::Step step;
  std::vector<double> x;
};

std::vector<WrongRow> strongest(const Scene& scene, const WrongOutputs& wrong) {
  std::vector<WrongRow> rows;
  for (const std::int64_t index : wrong.wrong()) {
    const std::int64_t row = index / scene.shape().out;
    for (const OutputRow& candidate : scene.rows()) {
      if (candidate.row == row) rows.push_back({&candidate, wrong.step(index), {}});
    }
  }
  const auto weight = [](const WrongRow& r) { return std::abs(r.step.by) / r.step.slack; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const WrongRow& a, const WrongRow& b) { return weight(a) > weight(b); });
  if (rows.size() > kRowsAsked) rows.resize(kRowsAsked);
  const FloatFormat format = format_of(scene.data().latent_tokens.dtype());
  for (WrongRow& row : rows) {
    for (std::int64_t i = 0; i < scene.in(); ++i) {
      row.x.push_back(to_double(decode_float(format, token_bits(scene.data(), row.row->source, i))));
    }
  }
  return rows;
}

using Group = std::array<double, kGroupSize>;

Group weights_of(const WeightReader& reader, const Site& site) {
  const WeightGroup group = reader.group(site.expert, site.out, site.group);
  Group values;
  for (int l = 0; l < kGroupSize; ++l) values[static_cast<std::size_t>(l)] = to_double(group[l]);
  return values;
}

// The largest distance from what the wrong outputs are off, in units of what rounding may do; above 1 it is
// not the place. NaN and infinities say nothing.
double misfit(const std::vector<WrongRow>& rows, const Site& site, const Group& before, const Group& after) {
  double worst = 0;
  for (const WrongRow& row : rows) {
    double p = 0;
    for (const Slot& slot : row.row->slots) p += slot.expert == site.expert ? to_double(slot.p) : 0.0;
    double moved = 0;
    for (std::int64_t l = 0; l < kGroupSize; ++l) {
      const auto k = static_cast<std::size_t>(l);
      moved += (after[k] - before[k]) * row.x[static_cast<std::size_t>(site.group * kGroupSize + l)];
    }
    const double off = std::abs(p * moved - row.step.by) / row.step.slack;
    if (!std::isnan(off)) worst = std::max(worst, off);
  }
  return worst;
}

// Experts that every wrong row has.
std::vector<std::int64_t> common_experts(const Scene& scene, const WrongOutputs& wrong) {
  std::vector<std::int64_t> common;
  bool first = true;
  for (const OutputRow& row : scene.rows()) {
    if (!wrong.rows().contains(row.row)) continue;
    std::set<std::int64_t> own;
    for (const Slot& slot : row.slots) own.insert(slot.expert);
    if (first) common.assign(own.begin(), own.end());
    std::erase_if(common, [&](std::int64_t e) { return !own.contains(e); });
    first = false;
  }
  return common;
}

}  // namespace

std::vector<Site> search_weights(const Planting& planting, const Scene& scene, const WrongOutputs& wrong) {
  CaseData seen = scene.copy();
  Weights weights(seen);
  const WeightReader reader(seen.expert_weights(), seen.policy);
  const std::vector<WrongRow> rows = strongest(scene, wrong);
  std::vector<std::pair<double, Site>> found;
  for (const std::int64_t expert : common_experts(scene, wrong)) {
    if (expert >= weights.experts()) continue;  // a copy that was cut down has other ids
    const std::int64_t step = planting.place == Place::kWeight ? 1 : kGroupSize;
    const std::int64_t first = planting.place == Place::kWeightRow ? scene.in() - kGroupSize : 0;
    for (std::int64_t i = first; i < scene.in(); i += step) {
      Site site;
      site.expert = expert;
      site.out = *wrong.columns().begin();
      site.in = i;
      site.group = i / kGroupSize;
      const Group before = weights_of(reader, site);
      std::array<unsigned, kGroupSize> codes;
      for (std::int64_t l = 0; l < kGroupSize; ++l) {
        codes[static_cast<std::size_t>(l)] = weights.code(expert, site.out, site.group * kGroupSize + l);
      }
      const unsigned scale = weights.scale(expert, site.out, site.group);
      planting.change(weights, site);
      const double off = misfit(rows, site, before, weights_of(reader, site));
      for (std::int64_t l = 0; l < kGroupSize; ++l) {
        weights.set_code(expert, site.out, site.group * kGroupSize + l, codes[static_cast<std::size_t>(l)]);
      }
      weights.set_scale(expert, site.out, site.group, scale);
      if (off <= 1) found.emplace_back(off, site);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Site> sites;
  for (const auto& [off, site] : found) {
    if (sites.size() < kMostSites) sites.push_back(site);
  }
  return sites;
}

}  // namespace moe4::oracle
