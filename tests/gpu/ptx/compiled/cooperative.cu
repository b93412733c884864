// A grid that waits for itself, and a kernel that talks: for the tests of the PTX executor.
// cooperative_sm_90a.ptx is this file through
//   nvcc -arch=sm_90a -std=c++17 -O3 -ptx cooperative.cu -o cooperative_sm_90a.ptx
#include <cooperative_groups.h>

#include <cassert>
#include <cstdint>
#include <cstdio>

namespace cg = cooperative_groups;

// Each block writes a word, the grid meets, and each block adds up those of all blocks; so for `rounds`.
extern "C" __global__ void grid_sums(std::uint32_t* words, std::uint32_t* sums, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) words[blockIdx.x] = blockIdx.x + 100 * round;
    grid.sync();
    if (threadIdx.x == 0) {
      std::uint32_t sum = 0;
      for (unsigned b = 0; b < gridDim.x; ++b) sum += words[b];
      sums[round * gridDim.x + blockIdx.x] = sum;
    }
    grid.sync();
  }
}

extern "C" __global__ void talks(const int* values, void*) {
  const int value = values[threadIdx.x];
  if (value < 0)
    printf("thread %d: %5d|%-6s|%08x|%.3f|%c|%llu|%%\n", threadIdx.x, value, "minus", 0xbeef, value * 0.5,
           'z', 1ull << 40);
  assert(value < 1000);
}

// A cluster reads the words of all its blocks through cooperative groups.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sums(std::uint32_t* sums) {
  __shared__ std::uint32_t word;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) word = blockIdx.x + 1;
  cluster.sync();
  if (threadIdx.x == 0) {
    std::uint32_t sum = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) sum += *cluster.map_shared_rank(&word, rank);
    sums[blockIdx.x] = sum;
  }
  cluster.sync();
}
