#include <vector>

#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/plan.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {

std::span<const Variant> variants() {
  static const std::vector<Variant> all = {
#define MOE4_VARIANT(entry, op, weights, dtype, file, plan, fields)                    \
  {#entry,                                                                             \
   dtype,                                                                              \
   "gpu/kernels/" #file ".cu",                                                         \
   R"({"schema": 1, "name": ")" #entry R"(", "op": ")" op R"(", "weights": ")" weights \
   R"(", "dtypes": [")" dtype R"("], )" fields "}",                                    \
   embedded_ptx(#file),                                                                \
   plan,                                                                               \
   op,                                                                                 \
   weights},
#include "gpu/kernels.inc"
#undef MOE4_VARIANT
  };
  return all;
}

}  // namespace moe4::gpu
