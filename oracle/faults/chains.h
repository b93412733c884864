// A kernel of profile `once` in F32 whose single additions can be replaced: what faults inside of a chain are
// planted in. Healthy as it stands, it returns the bits of its order (PRO-5, PRO-10).
#pragma once

#include <functional>

#include "oracle/faults/scene.h"

namespace moe4::oracle {

struct ChainKernel {
  Order order;
  std::function<void(ChainPlan&)> edit;  // none: the plan of the order
  // c + p at column i, one rounding; none: to nearest (ACC-3). p is w·x, exact.
  std::function<float(std::int32_t i, float c, double p)> fma;
  bool slots_backwards = false;
};

// Replaces the output of the run. Nothing happens with F64 tokens. Precondition: not op=combine, and the case
// is small.
void run_chains(const Scene& scene, const ChainKernel& kernel, SubjectRun& run);

}  // namespace moe4::oracle
