#include "oracle/python/bindings.h"
#include "oracle/python/errors.h"
#include "reference/arithmetic/canary.h"

NB_MODULE(_moe4, m) {
  using namespace moe4::python;
  m.doc() = "The compiled part of moe4; use the package, not this module.";
  bind_errors(m);
  // The proofs count on the float environment of the process that loads this.
  check(moe4::check_float_environment());
  bind_views(m);
  bind_operations(m);
  bind_weights(m);
  bind_routing(m);
  bind_cases(m);
  bind_verdicts(m);
}
