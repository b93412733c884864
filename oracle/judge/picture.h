// The wrong outputs as a picture: rows down, outputs across, a cell for a block of them where there are many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace moe4::oracle {

struct CaseData;

struct PictureCell {
  std::int64_t row = 0, column = 0;  // of cells
  std::int64_t wrong = 0;            // wrong outputs in it, at least one
  friend bool operator==(const PictureCell&, const PictureCell&) = default;
};

// A block of cells that touch, also at corners, with the cells between them.
struct PictureCluster {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;  // of cells, inclusive
  std::int64_t wrong = 0;
  friend bool operator==(const PictureCluster&, const PictureCluster&) = default;
};

struct Picture {
  std::int64_t rows = 0, outputs = 0;          // of the output, seen as [rows,O]
  std::int64_t row_step = 1, output_step = 1;  // how many of them a cell has
  std::string row_name = "row";                // "token" or "row"
  std::vector<PictureCell> cells;              // those with wrong outputs, by row, then column

  bool empty() const { return cells.empty(); }
  std::int64_t cell_rows() const { return (rows + row_step - 1) / row_step; }
  std::int64_t cell_columns() const { return (outputs + output_step - 1) / output_step; }
  // Outputs of the case in a cell.
  std::int64_t outputs_in(const PictureCell& cell) const;
  // Largest first.
  std::vector<PictureCluster> clusters() const;
};

// At most this many cells a side.
inline constexpr std::int64_t kPictureRows = 64, kPictureColumns = 128;

// wrong: flat indices into [rows,O], ascending.
Picture picture_of(const CaseData& data, const std::vector<std::int64_t>& wrong);

}  // namespace moe4::oracle
