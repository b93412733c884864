// The inner loops for any host.
#define MOE4_SET baseline
#define MOE4_SET_NAME "baseline"
#define MOE4_TARGET
#define MOE4_VECTOR_BYTES 16
#include "reference/fast/loops/kernels.inl"
