// Chooses one of the host's kernel sets for a test and puts the old one back.
#pragma once

#include "reference/fast/loops/kernels.h"

namespace moe4::test {

class KernelsGuard {
 public:
  KernelsGuard() : before_(fast::chosen_kernels()) {}
  explicit KernelsGuard(const fast::Kernels& kernels) : KernelsGuard() { fast::choose_kernels(kernels); }
  ~KernelsGuard() { fast::choose_kernels(before_); }
  KernelsGuard(const KernelsGuard&) = delete;
  KernelsGuard& operator=(const KernelsGuard&) = delete;

 private:
  const fast::Kernels& before_;
};

}  // namespace moe4::test
