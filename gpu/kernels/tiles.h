// Sizes of the kernels whose tiles are brought in stages, for the kernels and for their launch plans: rows
// (BLOCK_M), outputs (BLOCK_N) and depth (BLOCK_K) of a block's tile, its threads and its shared memory.
#pragma once

#include <cstddef>

namespace moe4 {

constexpr int kWarpgroupThreads = 128;

// kScaleBytes: of a stored scale, 2 (BF16) or 1 (E8M0). Warpgroups of 64 outputs each multiply, one copies.
template <int kTileRows, int kTileOutputs, int kTileDepth, int kTileScaleBytes>
struct WgmmaTile {
  static_assert(kTileRows % 8 == 0 && kTileRows <= 128, "a tile of tokens is one operand B");
  static_assert(kTileOutputs == 128 || kTileOutputs == 256, "one box of TMA has 256 rows at most");
  static_assert(kTileDepth == 64 || kTileDepth == 128,
                "BLOCK_K of the contiguous and of the masked contract");

  static constexpr int kRows = kTileRows;
  static constexpr int kOutputs = kTileOutputs;
  static constexpr int kDepth = kTileDepth;
  static constexpr bool kSwapped = true;  // weights are the M side of the matrix instruction
  static constexpr int kScaleBytes = kTileScaleBytes;
  static constexpr int kGroups = kDepth / 32;
  static constexpr int kConsumerWarps = kOutputs / 16;
  static constexpr int kThreads = 32 * kConsumerWarps + kWarpgroupThreads;
  static constexpr int kStages = 512 / kDepth;

  // Registers a thread after the warpgroups have shared them out anew. A block starts with those that a
  // launch gives each of its threads, a multiple of 8.
  static constexpr int kCopyRegisters = 40;
  static constexpr int kMultiplyRegisters = kOutputs == 128 ? 232 : 104;
  static_assert(kCopyRegisters * kWarpgroupThreads + kMultiplyRegisters * 32 * kConsumerWarps <=
                65536 / kThreads / 8 * 8 * kThreads);

  // A stage: tokens, codes, scales; each part begins at a multiple of 1024 bytes, as swizzles ask for.
  static constexpr std::size_t kTokenBytes = std::size_t{2} * kRows * kDepth;
  static constexpr std::size_t kCodeBytes = std::size_t{kOutputs} * kDepth / 2;
  static constexpr std::size_t kGroupScaleBytes = std::size_t{kOutputs} * kGroups * kScaleBytes;
  static constexpr std::size_t kStageBytes =
      kTokenBytes + kCodeBytes + (kGroupScaleBytes + 1023) / 1024 * 1024;
  static constexpr std::size_t kOutputBytes = std::size_t{2} * kOutputs * kRows;
  static constexpr std::size_t kSharedBytes = kStages * kStageBytes + kOutputBytes;
};

template <int kRows>
using Int4Contiguous = WgmmaTile<kRows, 128, 64, 2>;
template <int kRows>
using Mxfp4Contiguous = WgmmaTile<kRows, 128, 64, 1>;
template <int kRows, int kOutputs = 128>
using Int4Masked = WgmmaTile<kRows, kOutputs, 128, 2>;
template <int kRows>
using Mxfp4Masked = WgmmaTile<kRows, 128, 128, 1>;

// int4, indexed: all threads bring the stages and multiply. The first kPartThreads make the first
// kPartOutputs of the tile, and so on.
template <int kTileRows, int kTileOutputs, int kTileDepth, int kTilePartThreads, int kTilePartOutputs,
          bool kTileSwapped = true>
struct IndexedTile {
  static_assert(kTileRows % 8 == 0 && kTileOutputs % 64 == 0 && kTileDepth % 64 == 0);
  static constexpr int kRows = kTileRows;
  static constexpr int kOutputs = kTileOutputs;
  static constexpr int kDepth = kTileDepth;
  static constexpr bool kSwapped = kTileSwapped;
  static constexpr int kSlabs = kDepth / 64;
  static constexpr int kPartThreads = kTilePartThreads;
  static constexpr int kPartOutputs = kTilePartOutputs;
  static constexpr int kThreads = kOutputs / kPartOutputs * kPartThreads;
  static constexpr int kStages = 4;

  // A stage: tokens in slabs of 64 columns, codes, scales; each part begins at a multiple of 1024 bytes.
  static constexpr std::size_t kTokenBytes = std::size_t{2} * kRows * kDepth;
  static constexpr std::size_t kCodeBytes = std::size_t{kOutputs} * kDepth / 2;
  static constexpr std::size_t kScaleBytes = std::size_t{kOutputs} * kDepth / 32 * 2;
  static constexpr std::size_t kStageBytes = kTokenBytes + kCodeBytes + (kScaleBytes + 1023) / 1024 * 1024;
  static constexpr std::size_t kSharedBytes = kStages * kStageBytes;
};

// A warpgroup of the wgmma kernels makes 128 outputs of one slab of 64 columns.
template <int kTileRows, int kTileOutputs, int kTileDepth>
using PrefillTile =
    IndexedTile<kTileRows, kTileOutputs, kTileDepth, kWarpgroupThreads*(kTileDepth / 64), 128>;
using PrefillTile16 = PrefillTile<16, 128, 256>;
using PrefillTile32 = PrefillTile<32, 256, 128>;
using PrefillTile64 = PrefillTile<64, 256, 64>;
using PrefillTile96 = PrefillTile<96, 256, 64>;
using PrefillTile128 = PrefillTile<128, 256, 64>;
using PrefillTile176 = PrefillTile<176, 256, 64>;

// A warp of the mma.sync kernels makes 64 outputs.
using DecodeTile24 = IndexedTile<24, 256, 64, 32, 64>;
template <int kTileRows, int kTileDepth>
using WideTile = IndexedTile<kTileRows, 512, kTileDepth, 32, 64, false>;

}  // namespace moe4
