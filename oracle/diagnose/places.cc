#include "oracle/diagnose/places.h"

#include <algorithm>
#include <cmath>

#include "oracle/diagnose/weight_search.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kTile = 16;

bool in_one_tile(const std::set<std::int64_t>& numbers) {
  return !numbers.empty() && *numbers.begin() / kTile == *numbers.rbegin() / kTile;
}

// The row of the output, with its first slot.
std::vector<Site> sites_of_row(const Scene& scene, std::int64_t row, std::int64_t out) {
  const auto& rows = scene.rows();
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const OutputRow& r) { return r.row == row; });
  if (at == rows.end()) return {};
  std::vector<Site> sites;
  for (std::size_t j = 0; j < at->slots.size(); ++j) {
    Site site;
    site.index = static_cast<std::size_t>(at - rows.begin());
    site.row = row;
    site.source = at->source;
    site.slot = static_cast<std::int64_t>(j);
    site.expert = at->slots[j].expert;
    site.out = out;
    sites.push_back(site);
  }
  return sites;
}

std::vector<Candidate> first_of(std::vector<Site> sites) {
  if (sites.empty()) return {};
  return {{sites.front(), 0}};
}

}  // namespace

std::vector<Candidate> candidates(const Fault& fault, const Scene& scene, const WrongOutputs& wrong) {
  const auto& rows = wrong.rows();
  const auto& columns = wrong.columns();
  if (fault.planting.place == Place::kNone) return {{Site{}, 0}};
  if (rows.empty()) return {};
  const std::int64_t row = *rows.begin();
  const std::int64_t column = columns.empty() ? 0 : *columns.begin();
  std::vector<Candidate> found;
  switch (fault.planting.place) {
    case Place::kNone:
      break;
    case Place::kGroupColumn:
      for (std::int64_t column_of_group = 0; column_of_group < kGroupSize; ++column_of_group) {
        found.push_back({Site{}, column_of_group});
      }
      break;
    case Place::kRow:
      if (rows.size() == 1) return first_of(sites_of_row(scene, row, column));
      break;
    case Place::kColumn:
      if (columns.size() == 1) return first_of(sites_of_row(scene, row, column));
      break;
    case Place::kTwoColumns:
      if (columns.size() > 2) break;
      for (std::int64_t first = std::max<std::int64_t>(column - 1, 0); first <= column; ++first) {
        found.push_back({Site{}, first});
      }
      break;
    case Place::kElement:
      if (wrong.wrong().size() != 1) break;
      for (const Candidate& one : first_of(sites_of_row(scene, row, column))) {
        for (int bit = 0; bit < format_of(scene.shape().dtype).width(); ++bit)
          found.push_back({one.site, bit});
      }
      break;
    case Place::kTile:
      if (in_one_tile(rows) && in_one_tile(columns)) return first_of(sites_of_row(scene, row, column));
      break;
    case Place::kRowsInTile:
      if (rows.size() > 2 || !in_one_tile(columns)) break;
      for (std::int64_t first = std::max<std::int64_t>(row - 1, 0); first <= row; ++first) {
        Site site;
        site.row = first;
        site.out = column;
        found.push_back({site, 0});
      }
      break;
    case Place::kStrip:
      if (rows.size() == 1 && in_one_tile(columns)) return first_of(sites_of_row(scene, row, column));
      break;
    case Place::kSlot:
      if (rows.size() != 1) break;
      for (const Site& site : sites_of_row(scene, row, column)) found.push_back({site, 0});
      break;
    case Place::kWeightRow:
    case Place::kWeightGroup:
    case Place::kWeight:
      if (columns.size() != 1) break;
      for (const Site& site : search_weights(fault.planting, scene, wrong)) found.push_back({site, 0});
      break;
  }
  return found;
}

double place_bits(Place place, const Scene& scene) {
  const auto rows = static_cast<double>(std::max<std::size_t>(scene.rows().size(), 1));
  const auto out = static_cast<double>(std::max<std::int64_t>(scene.shape().out, 1));
  const auto in = static_cast<double>(std::max<std::int64_t>(scene.in(), 1));
  std::set<std::int64_t> experts;
  for (const OutputRow& row : scene.rows()) {
    for (const Slot& slot : row.slots) experts.insert(slot.expert);
  }
  const double weight_rows = out * static_cast<double>(std::max<std::size_t>(experts.size(), 1));
  switch (place) {
    case Place::kNone:
      return 0;
    case Place::kGroupColumn:
      return std::log2(kGroupSize);
    case Place::kRow:
      return std::log2(rows);
    case Place::kColumn:
    case Place::kTwoColumns:
      return std::log2(out);
    case Place::kElement:
      return std::log2(rows * out) + 4;
    case Place::kTile:
      return std::log2(std::ceil(rows / kTile) * std::ceil(out / kTile));
    case Place::kRowsInTile:
    case Place::kStrip:
      return std::log2(rows * std::ceil(out / kTile));
    case Place::kSlot:
      return std::log2(rows) + 2;
    case Place::kWeightRow:
      return std::log2(weight_rows);
    case Place::kWeightGroup:
      return std::log2(weight_rows * std::max(in / kGroupSize, 1.0));
    case Place::kWeight:
      return std::log2(weight_rows * in);
  }
  return 0;
}

}  // namespace moe4::oracle
