#include "reference/fast/loops/kernels.h"

#include <atomic>

namespace moe4::fast {

namespace baseline {
const Kernels& kernels();
}
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
namespace avx2 {
const Kernels& kernels();
}
namespace avx512 {
const Kernels& kernels();
}
namespace avx512vnni {
const Kernels& kernels();
}
#endif

std::vector<const Kernels*> host_kernels() {
  std::vector<const Kernels*> result;
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    if (__builtin_cpu_supports("avx512vnni")) result.push_back(&avx512vnni::kernels());
    result.push_back(&avx512::kernels());
  }
  if (has_avx2) result.push_back(&avx2::kernels());
#endif
  result.push_back(&baseline::kernels());
  return result;
}

namespace {

std::atomic<const Kernels*>& chosen() {
  static std::atomic<const Kernels*> kernels{host_kernels().front()};
  return kernels;
}

}  // namespace

const Kernels& chosen_kernels() { return *chosen().load(); }
void choose_kernels(const Kernels& kernels) { chosen().store(&kernels); }

}  // namespace moe4::fast
