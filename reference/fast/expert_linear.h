// op=expert_linear, fast (certificate.h).
#pragma once

#include <omp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "reference/arithmetic/canary.h"
#include "reference/fast/counters.h"
#include "reference/fast/dot_tile.h"
#include "reference/fast/expert_runs.h"
#include "reference/fast/weighted_sum.h"
#include "reference/linear/exact_output.h"
#include "reference/linear/rows.h"
#include "reference/linear/store.h"

namespace moe4::fast {

// The dot products d_j of some tokens for some outputs, with their errors.
struct SlotSums {
  std::int64_t out = 0;        // outputs a slot
  std::vector<double> sums;    // [slots][out]
  std::vector<double> errors;  // the same; 0: exact, or not finite

  void resize(std::int64_t slots, std::int64_t outputs) {
    out = outputs;
    sums.resize(static_cast<std::size_t>(slots * outputs));
    errors.resize(static_cast<std::size_t>(slots * outputs));
  }
};

// How many slots of tokens, and how many of their outputs, are held at once: 32 MiB.
inline constexpr std::int64_t kMaxSlotsAtOnce = 4096;
inline constexpr std::int64_t kMaxSlotSums = std::int64_t{1} << 21;

template <class Limits>
class ExpertLinearRun {
 public:
  ExpertLinearRun(const LinearInputs& inputs, const ExpertLinearDims& dims, const Policy& policy,
                  const MutableTensorView& output)
      : inputs_(inputs),
        dims_(dims),
        policy_(policy),
        output_(output),
        tokens_(by_blocks(inputs.latent_tokens, 1, dims.tokens)),
        shared_(inputs.shared_output),
        parallel_(dims.tokens * dims.out >= kMinParallelProducts / dims.in),
        threads_(parallel_ ? omp_get_max_threads() : 1),
        tiles_(static_cast<std::size_t>(threads_)) {}

  Counters run() {
    const std::int64_t slots_a_token = std::max<std::int64_t>(dims_.top_k, 1);
    const std::int64_t step = std::max<std::int64_t>(kMaxSlotsAtOnce / slots_a_token, 1);
    for (std::int64_t t = 0; t < dims_.tokens; t += step) run_tokens(t, std::min(step, dims_.tokens - t));
    return counters_;
  }

 private:
  void run_tokens(std::int64_t first, std::int64_t count) {
    std::vector<WorkItem> items;
    slots_.clear();
    first_slot_.clear();
    for (std::int64_t t = first; t < first + count; ++t) {
      first_slot_.push_back(slots_.size());
      for (const Slot& slot :
           contributing_slots(inputs_.selected_experts, inputs_.mixture_weights, t, policy_)) {
        items.push_back({slot.expert, {0, t}, static_cast<std::int64_t>(slots_.size())});
        slots_.push_back(to_double(slot.p));
      }
    }
    first_slot_.push_back(slots_.size());
    const std::vector<ExpertRun> runs = expert_runs(items, panel_rows(dims_.in));

    const auto slot_count = std::max<std::int64_t>(static_cast<std::int64_t>(slots_.size()), 1);
    const std::int64_t tiles_at_once = std::max<std::int64_t>(kMaxSlotSums / slot_count / kTileRows, 1);
    const std::int64_t step = tiles_at_once * kTileRows;
    for (std::int64_t o = 0; o < dims_.out; o += step) {
      const std::int64_t outputs = std::min(step, dims_.out - o);
      sums_.resize(slot_count, outputs);
      for (const ExpertRun& run : runs) multiply(run, o, outputs);
      combine(first, count, o, outputs);
    }
  }

  void multiply(const ExpertRun& run, std::int64_t first, std::int64_t count) {
    panel_.load(tokens_, run.sources, threads_);
    // LIN-9: tiles are independent of each other, so the number of threads changes no bit.
#pragma omp parallel num_threads(threads_) if (parallel_)
    {
      if (check_float_environment()) sound_ = false;
      auto& tile = tiles_[static_cast<std::size_t>(omp_get_thread_num())];
      if (!tile) tile = std::make_unique<DotTile<Limits>>(inputs_.weights, policy_);
#pragma omp for schedule(dynamic)
      for (std::int64_t o = 0; o < count; o += kTileRows) {
        const std::int64_t rows = std::min(kTileRows, count - o);
        tile->compute(panel_, run.expert, first + o, rows);
        for (std::int64_t row = 0; row < panel_.rows(); ++row) {
          const std::int64_t slot = run.targets[static_cast<std::size_t>(row)];
          for (std::int64_t k = 0; k < rows; ++k) {
            const double sum = tile->sum(row, k);
            const auto at = static_cast<std::size_t>(slot * sums_.out + o + k);
            sums_.sums[at] = sum;
            sums_.errors[at] = std::isfinite(sum) ? tile->error(row, k) : 0;
          }
        }
      }
    }
  }

  void combine(std::int64_t first_token, std::int64_t tokens, std::int64_t first, std::int64_t count) {
#pragma omp parallel num_threads(threads_) if (parallel_)
    {
      const bool sound = sound_ && !check_float_environment();
      Counters mine;
#pragma omp for schedule(dynamic)
      for (std::int64_t n = 0; n < tokens; ++n) {
        const std::int64_t t = first_token + n;
        const std::size_t begin = first_slot_[static_cast<std::size_t>(n)];
        const std::size_t end = first_slot_[static_cast<std::size_t>(n) + 1];
        std::optional<ExactToken> exact;
        for (std::int64_t o = 0; o < count; ++o) {
          std::optional<std::uint64_t> y;
          if (sound && begin != end) {
            WeightedSum sum(to_double(shared_.value({t, first + o})));
            for (std::size_t slot = begin; slot < end; ++slot) {
              const std::size_t at = slot * static_cast<std::size_t>(sums_.out) + static_cast<std::size_t>(o);
              sum.add(slots_[slot], sums_.sums[at], sums_.errors[at]);
            }
            y = sum.round(output_.dtype, mine);
          }
          if (!y) {
            if (!exact) exact.emplace(inputs_, policy_, t);
            y = exact->output(first + o).round(output_.dtype);
            ++mine.exact;
          }
          store(output_, t * dims_.out + first + o, *y);
        }
      }
#pragma omp critical
      counters_ += mine;
    }
  }

  const LinearInputs& inputs_;
  ExpertLinearDims dims_;
  Policy policy_;
  MutableTensorView output_;
  TensorView tokens_;
  Elements<2> shared_;
  bool parallel_;
  int threads_;
  std::vector<std::unique_ptr<DotTile<Limits>>> tiles_;
  TokenPanel panel_;
  SlotSums sums_;
  std::vector<double> slots_;            // p of each slot of the tokens at hand
  std::vector<std::size_t> first_slot_;  // of each token, and the end
  std::atomic<bool> sound_ = true;       // is every thread's float unit what the proofs count on?
  Counters counters_;
};

// moe4::expert_linear with the same bits. Precondition: all valid.
template <class Limits = ProvenLimits>
Counters fast_expert_linear(const LinearInputs& inputs, const ExpertLinearDims& dims, const Policy& policy,
                            const MutableTensorView& output) {
  constexpr std::int64_t kMaxSlots = 1 << 16;
  const bool exact =
      inputs.latent_tokens.dtype == Dtype::kF64 || dims.in > kMaxTerms || dims.top_k > kMaxSlots;
  if (!exact) return ExpertLinearRun<Limits>(inputs, dims, policy, output).run();
  Counters counters;
  counters.exact = dims.tokens * dims.out;
  moe4::expert_linear(inputs, output, policy);
  return counters;
}

}  // namespace moe4::fast
