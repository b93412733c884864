// mbarriers in shared memory: arrivals and bytes of copies, a phase at a time, and the pipeline that kernels
// of several warpgroups make of them.
#pragma once

#include <cstdint>

#include "gpu/kernels/device/ptx.cuh"

namespace moe4::device {

using Mbarrier = std::uint64_t;

__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

// Between the initialisation of barriers and their first use by a copy.
__device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Arrives, and the phase lacks this many bytes of copies more.
__device__ __forceinline__ void mbarrier_arrive_expect(Mbarrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

// Until the phase of this parity has ended; the phase before the first counts as ended, with parity 1.
__device__ __forceinline__ void mbarrier_wait(Mbarrier* barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred ended;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@ended bra ENDED;\nbra AGAIN;\nENDED:\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// A ring of stages: `full` when a stage's data has landed, `empty` when all have done with it.
template <int kStages>
struct Pipeline {
  Mbarrier full[kStages];
  Mbarrier empty[kStages];

  // By one thread; a barrier of the block must follow.
  __device__ __forceinline__ void init(unsigned full_arrivals, unsigned empty_arrivals) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(&full[stage], full_arrivals);
      mbarrier_init(&empty[stage], empty_arrivals);
    }
    mbarrier_init_fence();
  }
};

// Where a thread stands in the ring. Whoever fills waits for `empty` with the other parity.
template <int kStages>
struct StageCursor {
  int stage = 0;
  unsigned parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

}  // namespace moe4::device
