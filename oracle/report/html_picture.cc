#include "oracle/report/html_picture.h"

#include <fmt/core.h>

#include <algorithm>

#include "oracle/report/printable.h"

namespace moe4::oracle {
namespace {

// "4" or "4..7": what the cells from `first` to `last` stand for.
std::string span(std::int64_t first, std::int64_t last, std::int64_t step, std::int64_t size) {
  const std::int64_t begin = first * step, end = std::min((last + 1) * step, size) - 1;
  return begin == end ? fmt::format("{}", begin) : fmt::format("{}..{}", begin, end);
}

// Cells are squares unless there are few of one kind.
struct Scale {
  std::int64_t cell, left = 52, top = 22;
  std::int64_t x(std::int64_t column) const { return left + column * cell; }
  std::int64_t y(std::int64_t row) const { return top + row * cell; }
};

std::string axes(const Picture& p, const Scale& s) {
  const std::int64_t rows = p.cell_rows(), columns = p.cell_columns();
  std::string text;
  const auto label = [&](std::int64_t x, std::int64_t y, const char* anchor, std::string_view what) {
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x, y, anchor, what);
  };
  label(s.x(0), s.top - 7, "start", "0");
  if (columns > 4) label(s.x(columns), s.top - 7, "end", fmt::format("output {}", p.outputs - 1));
  label(s.left - 6, s.y(0) + std::min<std::int64_t>(s.cell, 11), "end", fmt::format("{} 0", p.row_name));
  if (rows * s.cell > 30) label(s.left - 6, s.y(rows) - 2, "end", fmt::format("{}", p.rows - 1));
  return text;
}

}  // namespace

std::string picture_svg(const Picture& p) {
  if (p.empty()) return "";
  const std::int64_t rows = p.cell_rows(), columns = p.cell_columns();
  const Scale s{std::clamp<std::int64_t>(640 / std::max(columns, rows), 6, 18)};
  const std::int64_t width = std::max<std::int64_t>(s.x(columns) + 4, 150), height = s.y(rows) + 4;
  std::string text = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"wrong outputs: "
      "{2}s down, "
      "outputs across\">",
      width, height, escape_markup(p.row_name));
  text += fmt::format("<rect class=\"right\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", s.x(0), s.y(0),
                      columns * s.cell, rows * s.cell);
  text += axes(p, s);
  for (const PictureCell& cell : p.cells) {
    const double share =
        static_cast<double>(cell.wrong) / static_cast<double>(std::max<std::int64_t>(p.outputs_in(cell), 1));
    text += fmt::format(
        "<rect class=\"wrong\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
        "fill-opacity=\"{:.2f}\"><title>{} {}, output "
        "{}: {} of {} wrong</title></rect>",
        s.x(cell.column), s.y(cell.row), s.cell - 1, s.cell - 1, 0.35 + 0.65 * std::min(share, 1.0),
        escape_markup(p.row_name), span(cell.row, cell.row, p.row_step, p.rows),
        span(cell.column, cell.column, p.output_step, p.outputs), cell.wrong, p.outputs_in(cell));
  }
  constexpr std::size_t kFrames = 12;
  const std::vector<PictureCluster> clusters = p.clusters();
  for (std::size_t n = 0; n < clusters.size() && n < kFrames; ++n) {
    const PictureCluster& c = clusters[n];
    text += fmt::format(
        "<rect class=\"cluster\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>cluster: {} {}, outputs "
        "{}: {} "
        "wrong</title></rect>",
        s.x(c.left) - 2, s.y(c.top) - 2, (c.right - c.left + 1) * s.cell + 3,
        (c.bottom - c.top + 1) * s.cell + 3, escape_markup(p.row_name),
        span(c.top, c.bottom, p.row_step, p.rows), span(c.left, c.right, p.output_step, p.outputs), c.wrong);
  }
  return text + "</svg>";
}

}  // namespace moe4::oracle
