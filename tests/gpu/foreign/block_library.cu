// Block-level algorithms of the toolkit's own headers: CUB's reduce and scan, cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace cg = cooperative_groups;

constexpr int kThreads = 128;

// out[block] = sum of in[block * n … block * n + n - 1]
extern "C" __global__ void __launch_bounds__(kThreads) cub_block_reduce(const int* in, int* out, int n) {
  using Reduce = cub::BlockReduce<int, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) sum += in[blockIdx.x * n + i];
  const int total = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

// out[i] = in[0] + … + in[i], over tiles of one block
extern "C" __global__ void __launch_bounds__(kThreads) cub_block_scan(const int* in, int* out, int n) {
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  int carry = 0;
  for (int first = 0; first < n; first += kThreads) {
    const int i = first + threadIdx.x;
    int value = i < n ? in[i] : 0, total = 0;
    Scan(storage).InclusiveSum(value, value, total);
    if (i < n) out[i] = value + carry;
    carry += total;
    __syncthreads();  // storage is used again
  }
}

// out[block] = maximum over the block: tiles of 32 by cg::reduce, then the first tile
extern "C" __global__ void __launch_bounds__(kThreads) cg_block_max(const int* in, int* out, int n) {
  __shared__ int partial[kThreads / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  int most = in[blockIdx.x * n];
  for (int i = block.thread_rank(); i < n; i += block.size()) most = max(most, in[blockIdx.x * n + i]);
  most = cg::reduce(tile, most, cg::greater<int>());
  if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = most;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    most = partial[tile.thread_rank() % (kThreads / 32)];
    most = cg::reduce(tile, most, cg::greater<int>());
    if (tile.thread_rank() == 0) out[blockIdx.x] = most;
  }
}
