// In which order blocks run.
#pragma once

#include <cfenv>
#include <cstdint>
#include <numeric>
#include <optional>

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

// Round to nearest, subnormals kept, whatever the caller's thread has set.
class FloatEnvironment {
 public:
  FloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&before_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

inline std::uint64_t blocks_of(const Launch& launch) {
  return std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
}

// The i-th cluster to run: in order, or a permutation drawn from the seed.
class ClusterOrder {
 public:
  ClusterOrder(std::uint64_t count, const std::optional<std::uint64_t>& seed) : count_(count) {
    if (!seed || count < 2) return;
    step_ = (*seed * 0x9e3779b97f4a7c15u >> 7) % count | 1;
    while (std::gcd(step_, count) != 1) ++step_;
    first_ = (*seed * 0xbf58476d1ce4e5b9u >> 9) % count;
  }
  std::uint64_t operator()(std::uint64_t i) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * step_ + first_) % count_);
  }

 private:
  std::uint64_t count_, step_ = 1, first_ = 0;
};

inline std::uint64_t clusters_of(const Run& run) { return blocks_of(*run.launch) / run.cluster_blocks; }

inline std::uint64_t budget_of(const Options& options) {
  return options.instruction_budget != 0 ? options.instruction_budget : std::uint64_t{1} << 40;
}

// Clusters (mostly of one block) that may wait for each other: one runs at a time. By default it runs until
// it waits; when all that have started wait, one more is started. Under a seed any of them is preempted after
// a few instructions or where it touches what others see, and new ones start at any time.
LaunchReport run_communicating(Run& run, const Options& options);

}  // namespace moe4::ptx
