// op=indexed, grouped_contiguous and grouped_masked as a declared kernel computes them (PRO-10): every row is
// R(d), whatever the profile.
//
// Shapes, dtypes, `written` and refusals as the norm's functions, and PRO-20.
#pragma once

#include <cstdint>
#include <memory>

#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"
#include "reference/profile/arithmetic.h"

namespace moe4 {

Result<RowsResult> declared_indexed(const IndexedInputs& inputs, const Arithmetic& arithmetic,
                                    const Policy& policy = {});
Result<RowsResult> declared_grouped_contiguous(const GroupedContiguousInputs& inputs,
                                               const Arithmetic& arithmetic, const Policy& policy = {});
Result<RowsResult> declared_grouped_masked(const GroupedMaskedInputs& inputs, const Arithmetic& arithmetic,
                                           const Policy& policy = {});

// A launch of a stream-K kernel, for PRO-14.
struct StreamKGrid {
  std::int64_t blocks = 1;  // of threads: multiprocessors times blocks on each
  std::int64_t block_n = 1;
  std::int64_t block_k = 1;
};

// The same with the slices that the launch gives each tile, in place of the equal ones of streamk(n). Refused
// are, besides: an order without streamk; block_n or block_k that does not divide O or I; a block_k that is
// no multiple of 32; more than three slices of a tile that has rows (PRO-18).
Result<RowsResult> declared_indexed(const IndexedInputs& inputs, const Arithmetic& arithmetic,
                                    const StreamKGrid& grid, const Policy& policy = {});

// Single outputs of any of the three, for samples: rows from indexed_rows, grouped_contiguous_rows or
// grouped_masked_rows.
class DeclaredRows {
 public:
  static Result<DeclaredRows> create(const RoutedRows& rows, const ExpertWeights& weights,
                                     const Arithmetic& arithmetic, const Policy& policy = {});
  DeclaredRows(DeclaredRows&&) noexcept;
  DeclaredRows& operator=(DeclaredRows&&) noexcept;
  ~DeclaredRows();

  // Column o of rows.rows[n], as BF16. Any number of threads may call it.
  std::uint64_t output(std::int64_t n, std::int64_t o) const;
  // All rows into [.., O], flat.
  void outputs(const MutableTensorView& output) const;

 private:
  friend Result<RowsResult> declared_indexed(const IndexedInputs&, const Arithmetic&, const StreamKGrid&,
                                             const Policy&);
  struct State;
  explicit DeclaredRows(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace moe4
