// The handlers for hosts with AVX-512.
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
#define MOE4_SET avx512
#define MOE4_SET_NAME "avx512"
#if defined(__clang__)
#define MOE4_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt,lzcnt")))
#else
#define MOE4_TARGET \
  __attribute__((   \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt,lzcnt,prefer-vector-width=512")))
#endif
#include "gpu/ptx/alu/instruction_set.inl"
#endif
