// MXFP4, op=grouped_contiguous. A warp makes one output of four consecutive places for rows: the main loop of
// device/warp_rows.cuh.
//
//   output[r,o]     = rn( c_0 after the joins c_l ← c_l + c_{l xor s}, s = 16, 8, 4, 2, 1 )
//   c_l             = Σ_{i : (i/8) % 32 = l} w[e,o,i] · latent_tokens[r,i],  e = m_indices[r] >= 0
//                     order lanes(32,8)+shfl: each c_l is one chain in order of i
//   w[e,o,i]        = code i%32 of packed_weights[e,o,i/32] × 2^(scale_bytes[e,o,i/32]-127), exact
//
// rn is to BF16; everything before it is FP32. Rows with m_indices[r] < 0 are neither read nor written,
// wherever they stand. Shapes: latent_tokens BF16 [m,I], packed_weights [E,O,I/32,16], scale_bytes
// [E,O,I/32], m_indices [m], output BF16 [m,O]; rows contiguous, bases 16-byte aligned, I a multiple of 32.
// Launch: blocks of 128 threads, one dimension, ceil(m/4) · ceil(O/4) blocks.
#include <cstdint>

#include "gpu/kernels/device/warp_rows.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(128, 8)
    mxfp4_grouped_contiguous_warp_bf16(const Bf16* __restrict__ latent_tokens,
                                       const std::uint32_t* __restrict__ packed_weights,
                                       const std::uint8_t* __restrict__ scale_bytes,
                                       const std::int32_t* __restrict__ m_indices, Bf16* __restrict__ output,
                                       std::int64_t m, std::int64_t I, std::int64_t O) {
  const auto row_at = [&](std::int64_t place) {
    Row row;
    if (place >= m) return row;
    row.from = place;
    row.to = place;
    row.expert = m_indices[place];
    return row;
  };
  warp_rows<Mxfp4Weights>(latent_tokens, packed_weights, scale_bytes, output, I, O, row_at);
}
