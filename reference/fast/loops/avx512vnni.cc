// The inner loops for hosts with AVX-512 and its 16-bit dot products.
#if defined(MOE4_HOST_SIMD) && defined(__x86_64__)
#define MOE4_SET avx512vnni
#define MOE4_SET_NAME "avx512vnni"
#define MOE4_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")))
#define MOE4_VNNI
#define MOE4_VECTOR_BYTES 64
#include "reference/fast/loops/kernels.inl"
#endif
