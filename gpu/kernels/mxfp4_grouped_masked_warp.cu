// MXFP4, op=grouped_masked. A warp makes one output of four consecutive places for rows: the main loop of
// device/warp_rows.cuh.
//
//   output[e,r,o]   = rn( c_0 after the joins c_l ← c_l + c_{l xor s}, s = 16, 8, 4, 2, 1 ),  r < masked_m[e]
//   c_l             = Σ_{i : (i/8) % 32 = l} w[e,o,i] · latent_tokens[e,r,i]
//                     order lanes(32,8)+shfl: each c_l is one chain in order of i
//   w[e,o,i]        = code i%32 of packed_weights[e,o,i/32] × 2^(scale_bytes[e,o,i/32]-127), exact
//
// rn is to BF16; everything before it is FP32. Rows from masked_m[e] on are neither read nor written. Shapes:
// latent_tokens BF16 [E,max_m,I], packed_weights [E,O,I/32,16],
// scale_bytes [E,O,I/32], masked_m [E], output BF16 [E,max_m,O]; rows
// contiguous, bases 16-byte aligned, I a multiple of 32. rows = E·max_m.
// Launch: blocks of 128 threads, one dimension, ceil(rows/4) · ceil(O/4) blocks.
#include <cstdint>

#include "gpu/kernels/device/warp_rows.cuh"

using namespace moe4::device;

extern "C" __global__ void __launch_bounds__(128, 8)
    mxfp4_grouped_masked_warp_bf16(const Bf16* __restrict__ latent_tokens,
                                   const std::uint32_t* __restrict__ packed_weights,
                                   const std::uint8_t* __restrict__ scale_bytes,
                                   const std::int32_t* __restrict__ masked_m, Bf16* __restrict__ output,
                                   std::int64_t rows, std::int64_t I, std::int64_t O, std::int64_t max_m) {
  const auto row_at = [&](std::int64_t place) {
    Row row;
    if (place >= rows || place % max_m >= masked_m[place / max_m]) return row;
    row.from = place;
    row.to = place;
    row.expert = place / max_m;
    return row;
  };
  warp_rows<Mxfp4Weights>(latent_tokens, packed_weights, scale_bytes, output, I, O, row_at);
}
