#include "oracle/judge/picture.h"

#include <algorithm>
#include <map>

#include "oracle/case/output_rows.h"

namespace moe4::oracle {
namespace {

// A power of two, so that a cell is a whole number of tiles or a part of one.
std::int64_t step_for(std::int64_t size, std::int64_t most) {
  std::int64_t step = 1;
  while ((size + step - 1) / step > most) step *= 2;
  return step;
}

void add(PictureCluster& cluster, const PictureCell& cell) {
  cluster.top = std::min(cluster.top, cell.row);
  cluster.bottom = std::max(cluster.bottom, cell.row);
  cluster.left = std::min(cluster.left, cell.column);
  cluster.right = std::max(cluster.right, cell.column);
  cluster.wrong += cell.wrong;
}

}  // namespace

std::int64_t Picture::outputs_in(const PictureCell& cell) const {
  const std::int64_t high = std::min(row_step, rows - cell.row * row_step);
  const std::int64_t wide = std::min(output_step, outputs - cell.column * output_step);
  return high * wide;
}

std::vector<PictureCluster> Picture::clusters() const {
  std::map<std::pair<std::int64_t, std::int64_t>, const PictureCell*> open;
  for (const PictureCell& cell : cells) open[{cell.row, cell.column}] = &cell;
  std::vector<PictureCluster> found;
  while (!open.empty()) {
    std::vector<const PictureCell*> reached = {open.begin()->second};
    open.erase(open.begin());
    PictureCluster cluster{reached[0]->row, reached[0]->column, reached[0]->row, reached[0]->column, 0};
    for (std::size_t n = 0; n < reached.size(); ++n) {
      const PictureCell& cell = *reached[n];
      add(cluster, cell);
      for (std::int64_t k = 0; k < 9; ++k) {
        const auto next = open.find({cell.row + k / 3 - 1, cell.column + k % 3 - 1});
        if (next == open.end()) continue;
        reached.push_back(next->second);
        open.erase(next);
      }
    }
    found.push_back(cluster);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.wrong > b.wrong; });
  return found;
}

Picture picture_of(const CaseData& data, const std::vector<std::int64_t>& wrong) {
  Picture picture;
  if (wrong.empty()) return picture;
  const OutputShape shape = output_shape(data);
  picture.rows = shape.rows;
  picture.outputs = shape.out;
  picture.row_step = step_for(shape.rows, kPictureRows);
  picture.output_step = step_for(shape.out, kPictureColumns);
  picture.row_name = is_row_op(data.op) ? "row" : "token";
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
  for (const std::int64_t index : wrong) {
    ++counts[{index / shape.out / picture.row_step, index % shape.out / picture.output_step}];
  }
  for (const auto& [place, count] : counts) picture.cells.push_back({place.first, place.second, count});
  return picture;
}

}  // namespace moe4::oracle
