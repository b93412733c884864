// Source of the compiled PTX beside it: what nvcc really writes, for the executor's tests (compiled_test.cc).
//   nvcc -std=c++17 -O3 --fmad=false -lineinfo -arch=ARCH -ptx probe.cu -o probe_ARCH.ptx
// (.file lines shortened to file names).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Pair {
  float scale;
  int shift[3];
};

// Sum of each row by shuffles, then across warps through shared memory.
extern "C" __global__ void row_sums(const float* in, float* out, int width) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += in[(size_t)blockIdx.x * width + i];
  for (int step = 16; step; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x / 32; ++i) sum += partial[i];
    out[blockIdx.x] = sum;
  }
}

// Bytes counted in shared memory, then added to global memory.
extern "C" __global__ void histogram(const unsigned char* in, unsigned* out, int n) {
  extern __shared__ unsigned bins[];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (bins[i]) atomicAdd(&out[i], bins[i]);
}

// Half types, a struct parameter, a local array with a computed index, a switch.
extern "C" __global__ void mixture(const __nv_bfloat16* a, const __half* b, float* out, Pair pair, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float local[8];
  for (int k = 0; k < 8; ++k) local[k] = __bfloat162float(a[(i + k) % n]) * pair.scale;
  float x = local[(i >> pair.shift[1]) & 7];
  switch (i % 6) {
    case 0:
      x = __fadd_rn(x, __half2float(b[i]));
      break;
    case 1:
      x = __fdiv_rn(x, 3.0f);
      break;
    case 2:
      x = __fsqrt_rn(fabsf(x));
      break;
    case 3:
      x = fminf(fmaxf(x, -1.0f), 1.0f);
      break;
    case 4:
      x = __half2float(__hadd(b[i], __float2half_rn(x)));
      break;
    default:
      x = __bfloat162float(__hmul(a[i], a[i]));
      break;
  }
  out[i] = x;
}

// 64-bit integers and doubles.
extern "C" __global__ void wide(const long long* in, double* out, long long divisor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long quotient = in[i] / divisor, rest = in[i] % divisor;
  out[i] = __ddiv_rn((double)quotient, 7.0) +
           __dsqrt_rn((double)(rest < 0 ? -rest : rest)) * (double)__popcll(in[i]);
}

// Sixteen-byte loads and packed nibbles.
extern "C" __global__ void nibbles(const uint4* in, int4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint4 v = __ldg(&in[i]);
  int4 sum = {0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    sum.x += (v.x >> (4 * k)) & 15;
    sum.y += (int)(v.y << (28 - 4 * k)) >> 28;
    sum.z ^= __byte_perm(v.z, v.w, 0x4040 + k) * (k + 1);
    sum.w = __funnelshift_l(v.w, v.x, k) + sum.w * 3;
  }
  out[i] = sum;
}
