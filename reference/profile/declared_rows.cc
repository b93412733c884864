#include "reference/profile/declared_rows.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/accumulate/stream_k.h"
#include "reference/linear/store.h"
#include "reference/profile/dots.h"

namespace moe4 {

struct DeclaredRows::State {
  RoutedRows rows;
  AnyDots dots;
  std::vector<ChainPlan> plans;
  // The index among plans for column o of rows.rows[n]; all have the first if it is empty.
  std::function<std::size_t(std::int64_t n, std::int64_t o)> plan_of;

  const ChainPlan& plan(std::int64_t n, std::int64_t o) const { return plans[plan_of ? plan_of(n, o) : 0]; }
};

namespace {

template <class State, class Dots>
typename Dots::Token token_of(const State& state, const Dots& dots, std::int64_t n) {
  const RoutedRow& row = state.rows.rows[static_cast<std::size_t>(n)];
  const Elements<3> tokens(state.rows.tokens_by_blocks);
  std::vector<ExactValue> x;
  for (std::int64_t i = 0; i < state.rows.dims.in; ++i) {
    x.push_back(tokens.value({row.source[0], row.source[1], i}));
  }
  return dots.token(x);
}

template <class State, class Dots>
std::uint64_t output_of(const State& state, const Dots& dots, const typename Dots::Token& token,
                        std::int64_t n, std::int64_t o) {
  const std::int64_t expert = state.rows.rows[static_cast<std::size_t>(n)].expert;
  return dots.ops().round_dot(kBF16, dots.dot(expert, o, token, state.plan(n, o)));  // PRO-10
}

Result<RowsResult> all_rows(const Result<RoutedRows>& rows, Shape shape, const ExpertWeights& weights,
                            const Arithmetic& arithmetic, const Policy& policy) {
  const Result<DeclaredRows> kernel = DeclaredRows::create(*rows, weights, arithmetic, policy);
  if (!kernel.ok()) return kernel.error();
  RowsResult result{Tensor(Dtype::kBF16, std::move(shape)), written_rows(*rows)};
  kernel->outputs(result.output.mutable_view());
  return result;
}

Status check_grid(const StreamKGrid& grid, const Arithmetic& arithmetic, const RowDims& dims) {
  if (arithmetic.order.slicing != Order::Slicing::kStreamK) {
    return Error{"order", to_string(arithmetic.order),
                 "PRO-15: a launch of stream-K has an order of streamk"};
  }
  if (grid.blocks < 1) return Error{"blocks", std::to_string(grid.blocks), "PRO-14: there is at least 1"};
  if (grid.block_n < 1 || dims.out % grid.block_n != 0) {
    return Error{"block_n", std::to_string(grid.block_n),
                 "PRO-14: it divides O = " + std::to_string(dims.out)};
  }
  if (grid.block_k < 1 || grid.block_k % kGroupSize != 0 || dims.in % grid.block_k != 0) {
    return Error{"block_k", std::to_string(grid.block_k),
                 "PRO-14: it is a multiple of 32 and divides I = " + std::to_string(dims.in)};
  }
  return {};
}

// The row block of each row of `rows`, by the position of its id.
std::vector<std::int64_t> row_blocks_of(const IndexedInputs& inputs, const RoutedRows& rows) {
  const ActiveIds active(inputs);
  std::map<std::int64_t, std::int64_t> block_of;
  for (std::int64_t r = 0; r < active.count; ++r)
    block_of[active.sorted_ids.integer({r})] = r / inputs.block_m;
  std::vector<std::int64_t> blocks;
  for (const RoutedRow& row : rows.rows) blocks.push_back(block_of.at(row.row));
  return blocks;
}

}  // namespace

DeclaredRows::DeclaredRows(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeclaredRows::DeclaredRows(DeclaredRows&&) noexcept = default;
DeclaredRows& DeclaredRows::operator=(DeclaredRows&&) noexcept = default;
DeclaredRows::~DeclaredRows() = default;

Result<DeclaredRows> DeclaredRows::create(const RoutedRows& rows, const ExpertWeights& weights,
                                          const Arithmetic& arithmetic, const Policy& policy) {
  if (Status error = check_arithmetic(arithmetic, {Dtype::kBF16, weights.format})) return *error;
  return DeclaredRows(std::unique_ptr<State>(new State{rows,
                                                       make_dots(weights, policy, arithmetic, Dtype::kBF16),
                                                       {declared_plan(arithmetic, rows.dims.in)},
                                                       {}}));
}

std::uint64_t DeclaredRows::output(std::int64_t n, std::int64_t o) const {
  return std::visit(
      [&](const auto& dots) { return output_of(*state_, dots, token_of(*state_, dots, n), n, o); },
      state_->dots);
}

void DeclaredRows::outputs(const MutableTensorView& output) const {
  const RowDims& dims = state_->rows.dims;
  const auto count = static_cast<std::int64_t>(state_->rows.rows.size()) * dims.out;
  const bool parallel = count >= kMinParallelProducts / dims.in;
  std::visit(
      [&](const auto& dots) {
        using Dots = std::decay_t<decltype(dots)>;
    // LIN-9: outputs are independent of each other.
#pragma omp parallel if (parallel)
        {
          std::optional<typename Dots::Token> token;
          std::int64_t row_of_token = -1;
#pragma omp for schedule(static)
          for (std::int64_t index = 0; index < count; ++index) {
            const std::int64_t n = index / dims.out;
            const std::int64_t o = index % dims.out;
            if (n != row_of_token) token.emplace(token_of(*state_, dots, n));
            row_of_token = n;
            const std::int64_t row = state_->rows.rows[static_cast<std::size_t>(n)].row;
            store(output, row * dims.out + o, output_of(*state_, dots, *token, n, o));
          }
        }
      },
      state_->dots);
}

Result<RowsResult> declared_indexed(const IndexedInputs& inputs, const Arithmetic& arithmetic,
                                    const Policy& policy) {
  const Result<RoutedRows> rows = indexed_rows(inputs);
  if (!rows.ok()) return rows.error();
  return all_rows(rows, {rows->dims.rows, rows->dims.out}, inputs.weights, arithmetic, policy);
}

Result<RowsResult> declared_grouped_contiguous(const GroupedContiguousInputs& inputs,
                                               const Arithmetic& arithmetic, const Policy& policy) {
  const Result<RoutedRows> rows = grouped_contiguous_rows(inputs);
  if (!rows.ok()) return rows.error();
  return all_rows(rows, {rows->dims.rows, rows->dims.out}, inputs.weights, arithmetic, policy);
}

Result<RowsResult> declared_grouped_masked(const GroupedMaskedInputs& inputs, const Arithmetic& arithmetic,
                                           const Policy& policy) {
  const Result<RoutedRows> rows = grouped_masked_rows(inputs);
  if (!rows.ok()) return rows.error();
  const RowDims& dims = rows->dims;
  const std::int64_t max_m = dims.experts > 0 ? dims.rows / dims.experts : 0;
  return all_rows(rows, {dims.experts, max_m, dims.out}, inputs.weights, arithmetic, policy);
}

Result<RowsResult> declared_indexed(const IndexedInputs& inputs, const Arithmetic& arithmetic,
                                    const StreamKGrid& grid, const Policy& policy) {
  const Result<RoutedRows> rows = indexed_rows(inputs);
  if (!rows.ok()) return rows.error();
  const RowDims& dims = rows->dims;
  if (Status error = check_grid(grid, arithmetic, dims)) return *error;
  Result<DeclaredRows> kernel = DeclaredRows::create(*rows, inputs.weights, arithmetic, policy);
  if (!kernel.ok()) return kernel.error();

  const std::vector<std::int64_t> row_blocks = row_blocks_of(inputs, *rows);
  const StreamKLaunch launch = {grid.blocks, ActiveIds(inputs).blocks, dims.out / grid.block_n,
                                dims.in / grid.block_k};
  // One plan for each way in which a tile is cut.
  std::map<std::vector<std::int64_t>, std::size_t> known;
  std::map<std::int64_t, std::size_t> plan_of_tile;
  std::vector<ChainPlan> plans;
  for (const std::int64_t row_block : row_blocks) {
    for (std::int64_t n = 0; n < launch.column_blocks; ++n) {
      const std::int64_t tile = row_block * launch.column_blocks + n;
      if (plan_of_tile.contains(tile)) continue;
      std::vector<Slice> slices = stream_k_slices(launch, tile);
      if (slices.size() > 3) {
        return Error{"blocks",
                     "tile " + std::to_string(tile) + ", " + std::to_string(slices.size()) + " slices",
                     "PRO-18: with more than 3 slices the order of the sums is not deterministic"};
      }
      std::vector<std::int64_t> cuts;
      for (Slice& slice : slices) {
        slice = {slice.begin * grid.block_k, slice.end * grid.block_k};
        cuts.push_back(slice.end);
      }
      const auto [at, is_new] = known.emplace(cuts, plans.size());
      if (is_new) plans.push_back(declared_plan(arithmetic, slices));
      plan_of_tile[tile] = at->second;
    }
  }
  if (!plans.empty()) {
    kernel->state_->plans = std::move(plans);
    kernel->state_->plan_of = [row_blocks, plan_of_tile, column_blocks = launch.column_blocks,
                               block_n = grid.block_n](std::int64_t n, std::int64_t o) {
      return plan_of_tile.at(row_blocks[static_cast<std::size_t>(n)] * column_blocks + o / block_n);
    };
  }
  RowsResult result{Tensor(Dtype::kBF16, {dims.rows, dims.out}), written_rows(*rows)};
  kernel->outputs(result.output.mutable_view());
  return result;
}

}  // namespace moe4
