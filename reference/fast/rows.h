// The rows of indexed, grouped_contiguous and grouped_masked, fast (certificate.h).
#pragma once

#include <omp.h>

#include <memory>
#include <utility>
#include <vector>

#include "reference/arithmetic/canary.h"
#include "reference/fast/counters.h"
#include "reference/fast/dot_tile.h"
#include "reference/fast/expert_runs.h"
#include "reference/fast/round_interval.h"
#include "reference/linear/row_dot.h"
#include "reference/linear/rows.h"
#include "reference/linear/store.h"

namespace moe4::fast {

// One thread of fast_rows.
template <class Limits>
class RowsWorker {
 public:
  RowsWorker(const RoutedRows& routed, const ExpertWeights& weights, const Policy& policy,
             const MutableTensorView& output)
      : routed_(routed),
        tokens_(routed.tokens_by_blocks),
        reader_(weights, policy),
        tile_(weights, policy),
        output_(output) {}

  // Outputs o .. o + count - 1 of all rows of the run. sound: is the float unit of this thread what the
  // proofs count on?
  void compute(const ExpertRun& run, const TokenPanel& panel, std::int64_t o, std::int64_t count,
               bool sound) {
    if (sound) tile_.compute(panel, run.expert, o, count);
    for (std::int64_t row = 0; row < panel.rows(); ++row) {
      bool x_is_known = false;
      for (std::int64_t k = 0; k < count; ++k) {
        std::uint64_t bits = 0;
        if (!sound || !prove(row, k, bits)) {
          if (!x_is_known) read_tokens(run.sources[static_cast<std::size_t>(row)]);
          x_is_known = true;
          bits = row_dot(reader_, run.expert, o + k, x_).round(kBF16);
          ++counters_.exact;
        }
        store(output_, run.targets[static_cast<std::size_t>(row)] * routed_.dims.out + o + k, bits);
      }
    }
  }

  const Counters& counters() const { return counters_; }

 private:
  bool prove(std::int64_t row, std::int64_t k, std::uint64_t& bits) {
    const double sum = tile_.sum(row, k);
    if (!std::isfinite(sum)) {
      bits = round_double(Dtype::kBF16, sum);
      ++counters_.non_finite;
      return true;
    }
    if (tile_.exact(k)) {
      bits = round_to_bf16(sum);
      ++(tile_.in_f32() ? counters_.certified_f32 : counters_.certified);
      return true;
    }
    for (const bool quick : {true, false}) {
      const double error = quick ? tile_.quick_error(row, k) : tile_.error(row, k);
      if (const auto proved = round_interval(Dtype::kBF16, {sum, 0, error})) {
        bits = *proved;
        ++(error == 0 ? counters_.certified : counters_.rounding_test);
        return true;
      }
    }
    return false;
  }

  void read_tokens(const TokenIndex& source) {
    x_.resize(static_cast<std::size_t>(routed_.dims.in));
    for (std::int64_t i = 0; i < routed_.dims.in; ++i) {
      x_[static_cast<std::size_t>(i)] = tokens_.value({source[0], source[1], i});
    }
  }

  const RoutedRows& routed_;
  Elements<3> tokens_;
  WeightReader reader_;
  DotTile<Limits> tile_;
  MutableTensorView output_;
  Counters counters_;
  std::vector<ExactValue> x_;
};

// moe4::compute_rows with the same bits. Precondition: all valid.
template <class Limits = ProvenLimits>
Counters fast_rows(const RoutedRows& routed, const ExpertWeights& weights, const Policy& policy,
                   const MutableTensorView& output) {
  const RowDims& dims = routed.dims;
  Counters counters;
  if (dims.in > kMaxTerms) {
    moe4::compute_rows(routed, weights, policy, output);
    counters.exact = static_cast<std::int64_t>(routed.rows.size()) * dims.out;
    return counters;
  }
  std::vector<WorkItem> items;
  for (const RoutedRow& row : routed.rows) items.push_back({row.expert, row.source, row.row});
  const bool parallel = static_cast<std::int64_t>(items.size()) * dims.out >= kMinParallelProducts / dims.in;
  const int threads = parallel ? omp_get_max_threads() : 1;
  std::vector<std::unique_ptr<RowsWorker<Limits>>> workers(static_cast<std::size_t>(threads));
  TokenPanel panel;
  const std::int64_t tiles = (dims.out + kTileRows - 1) / kTileRows;
  for (const ExpertRun& run : expert_runs(items, panel_rows(dims.in))) {
    panel.load(routed.tokens_by_blocks, run.sources, threads);
    // LIN-9: tiles are independent of each other, so the number of threads changes no bit.
#pragma omp parallel num_threads(threads) if (parallel)
    {
      const bool sound = !check_float_environment();
      auto& worker = workers[static_cast<std::size_t>(omp_get_thread_num())];
      if (!worker) worker = std::make_unique<RowsWorker<Limits>>(routed, weights, policy, output);
#pragma omp for schedule(dynamic)
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t o = tile * kTileRows;
        worker->compute(run, panel, o, std::min(kTileRows, dims.out - o), sound);
      }
    }
  }
  for (const auto& worker : workers) {
    if (worker) counters += worker->counters();
  }
  return counters;
}

}  // namespace moe4::fast
