#include "oracle/judge/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "oracle/case/output_rows.h"

namespace moe4::oracle {
namespace {

using Numbers = std::set<std::int64_t>;

// ", all with o % 32 == 31": the coarsest power of two by which several of them agree.
std::string remainder(const std::vector<std::int64_t>& values, std::int64_t size, char letter) {
  if (values.size() < 2) return "";
  for (std::int64_t m = 128; m >= 2; m /= 2) {
    if (2 * m > size) continue;
    const std::int64_t r = values.front() % m;
    if (std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v % m == r; })) {
      return fmt::format(", all with {} % {} == {}", letter, m, r);
    }
  }
  return "";
}

std::string axis(const char* name, char letter, const Numbers& hit, std::int64_t size) {
  const std::vector<std::int64_t> values(hit.begin(), hit.end());
  if (static_cast<std::int64_t>(values.size()) == size) return fmt::format("{}: all {}", name, size);
  return fmt::format("{}: {} of {}: {}{}", name, values.size(), size, ranges(values),
                     remainder(values, size, letter));
}

// The experts that every wrong row has, unless that says nothing: a right row has them all too, or one row is
// wrong.
std::vector<std::string> experts(const CaseData& data, const std::vector<OutputRow>& rows,
                                 const Numbers& wrong) {
  if (data.op == Op::kCombine) return {};
  const bool of_rows = is_row_op(data.op);
  std::map<std::int64_t, Numbers> users;
  for (const OutputRow& row : rows) {
    for (const Slot& slot : row.slots) users[slot.expert].insert(row.row);
  }
  const std::string noun = of_rows ? "rows" : "tokens";
  std::vector<std::string> lines;
  for (const auto& [expert, selecting] : users) {
    if (!std::includes(selecting.begin(), selecting.end(), wrong.begin(), wrong.end())) continue;
    if (selecting.size() == wrong.size()) {
      lines.push_back(fmt::format("expert {}: the wrong {} are those {}", expert, noun,
                                  of_rows ? "of it" : "that select it"));
    } else if (wrong.size() > 1) {
      lines.push_back(
          of_rows ? fmt::format("expert {}: every wrong row is one of its {}", expert, selecting.size())
                  : fmt::format("expert {}: every wrong token selects it ({} of the {} that do)", expert,
                                wrong.size(), selecting.size()));
    }
  }
  if (lines.size() > 3) lines.clear();
  return lines;
}

// Rows of 128 are the tile of grouped_contiguous (RTE-24).
constexpr std::int64_t kContiguousTile = 128;

// Where the wrong rows lie in the blocks and tiles that a kernel works on.
std::vector<std::string> tiles(const CaseData& data, const Numbers& wrong) {
  Numbers tiles, places;
  if (data.op == Op::kIndexed) {
    const ActiveIds active(data.indexed());
    for (std::int64_t r = 0; r < active.count; ++r) {
      if (wrong.count(active.sorted_ids.integer({r})) == 0) continue;
      tiles.insert(r / data.block_m);
      places.insert(r % data.block_m);
    }
    return {axis("blocks", 'b', tiles, active.blocks),
            axis("positions in a block", 'r', places, data.block_m)};
  }
  if (data.op == Op::kGroupedContiguous) {
    const std::int64_t rows = output_shape(data).rows;
    for (const std::int64_t row : wrong) {
      tiles.insert(row / kContiguousTile);
      places.insert(row % kContiguousTile);
    }
    return {axis("tiles of 128 rows", 'm', tiles, (rows + kContiguousTile - 1) / kContiguousTile),
            axis("rows in a tile", 'r', places, std::min(rows, kContiguousTile))};
  }
  if (data.op == Op::kGroupedMasked) {
    const std::int64_t max_m = output_shape(data).rows / std::max<std::int64_t>(data.masked_m.dim(0), 1);
    for (const std::int64_t row : wrong) places.insert(row % std::max<std::int64_t>(max_m, 1));
    return {axis("rows of an expert", 'r', places, max_m)};
  }
  return {};
}

}  // namespace

std::string ranges(const std::vector<std::int64_t>& ascending, std::size_t most) {
  std::string text;
  std::size_t parts = 0;
  std::size_t k = 0;
  while (k < ascending.size() && parts < most) {
    std::size_t end = k + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (parts > 0) text += ", ";
    text += end - k == 1 ? fmt::format("{}", ascending[k])
                         : fmt::format("{}..{}", ascending[k], ascending[end - 1]);
    k = end;
    ++parts;
  }
  if (k < ascending.size()) text += fmt::format(" (and {} more)", ascending.size() - k);
  return text;
}

std::vector<std::string> describe_clusters(const CaseData& data, const std::vector<std::int64_t>& wrong) {
  const OutputShape shape = output_shape(data);
  const std::vector<OutputRow> rows = output_rows(data);
  const auto counted = static_cast<std::int64_t>(rows.size());
  if (static_cast<std::int64_t>(wrong.size()) == counted * shape.out) return {"everywhere"};
  Numbers row_hit, output_hit;
  for (const std::int64_t index : wrong) {
    row_hit.insert(index / shape.out);
    output_hit.insert(index % shape.out);
  }
  const bool of_rows = is_row_op(data.op);
  std::vector<std::string> lines = {
      axis(of_rows ? "rows" : "tokens", of_rows ? 'm' : 't', row_hit, shape.rows),
      axis("outputs", 'o', output_hit, shape.out)};
  if (wrong.size() == row_hit.size() * output_hit.size() && wrong.size() > 1) {
    lines.push_back("every combination of these is wrong");
  }
  for (std::string& line : tiles(data, row_hit)) lines.push_back(std::move(line));
  for (std::string& line : experts(data, rows, row_hit)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace moe4::oracle
