#include <vector>

#include "gpu/launch/embedded_ptx.h"
#include "gpu/launch/plan.h"
#include "gpu/launch/plan_tiles.h"
#include "gpu/launch/variant.h"

namespace moe4::gpu {

std::span<const Variant> variants() {
  static const std::vector<Variant> all = {
#define MOE4_LISTED(entry, op, weights, layout, layouts, dtype, file, rule, fields)                     \
  {#entry,                                                                                              \
   dtype,                                                                                               \
   "gpu/kernels/" #file ".cu",                                                                          \
   R"({"schema": 1, "name": ")" #entry R"(", "op": ")" op R"(", "weights": ")" weights R"(", )" layouts \
   R"("dtypes": [")" dtype R"("], )" fields "}",                                                        \
   embedded_ptx(#file),                                                                                 \
   (rule).plan,                                                                                         \
   op,                                                                                                  \
   weights,                                                                                             \
   layout,                                                                                              \
   (rule).tile,                                                                                         \
   (rule).workspace_bytes},
#define MOE4_VARIANT(entry, op, weights, dtype, file, rule, fields) \
  MOE4_LISTED(entry, op, weights, "", "", dtype, file, rule, fields)
#define MOE4_PACKED_VARIANT(entry, op, weights, layout, dtype, file, rule, fields) \
  MOE4_LISTED(entry, op, weights, layout, R"("layouts": ")" layout R"(", )", dtype, file, rule, fields)
#include "gpu/kernels.inc"
#undef MOE4_PACKED_VARIANT
#undef MOE4_VARIANT
#undef MOE4_LISTED
  };
  return all;
}

}  // namespace moe4::gpu
