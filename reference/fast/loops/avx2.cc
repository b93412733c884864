// The inner loops for hosts with AVX2 and FMA.
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
#define MOE4_SET avx2
#define MOE4_SET_NAME "avx2"
#define MOE4_TARGET __attribute__((target("avx2,fma")))
#define MOE4_VECTOR_BYTES 32
#include "reference/fast/loops/kernels.inl"
#endif
