// Adds up what blocks report, in the order they were scheduled in.
#pragma once

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

class Collector {
 public:
  Collector(const Run& run, const Options& options) : run_(run), options_(options) {
    report_.completed = true;
  }

  void add(Block::Result result);
  void over_budget(Dim3 block);  // the budget ended in this block

  std::uint64_t instructions() const { return instructions_; }
  LaunchReport& report() { return report_; }

 private:
  const Run& run_;
  const Options& options_;
  LaunchReport report_;
  std::vector<std::uint64_t> keys_;  // of the findings, as Block::Result has them
  std::uint64_t instructions_ = 0;
};

}  // namespace moe4::ptx
