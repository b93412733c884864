#include "gpu/ptx/alu/alu.h"

#include <atomic>

namespace moe4::ptx {

namespace baseline {
const Alu& alu();
}
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
namespace avx2 {
const Alu& alu();
}
namespace avx512 {
const Alu& alu();
}
#endif

std::vector<const Alu*> host_alus() {
  std::vector<const Alu*> result;
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    result.push_back(&avx512::alu());
  }
  if (has_avx2) result.push_back(&avx2::alu());
#endif
  result.push_back(&baseline::alu());
  return result;
}

namespace {

std::atomic<const Alu*>& chosen() {
  static std::atomic<const Alu*> alu{host_alus().front()};
  return alu;
}

}  // namespace

const Alu& host_alu() { return *chosen().load(); }
void use_host_alu(const Alu& alu) { chosen().store(&alu); }

}  // namespace moe4::ptx
