// Handlers of asynchronous copies and of mbarriers.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

// Bytes of a buffer as a load would see them.
void read_global(Block& block, const Buffer& buffer, std::uint64_t offset, std::span<std::byte> to);
// A run that follows unwritten memory: `bytes` of shared memory now hold `copied` bytes of a buffer, then
// zeros.
void note_copied(Block& block, std::uint32_t to, const Buffer* buffer, std::uint64_t offset,
                 std::uint32_t copied, std::uint32_t bytes);

// … and bytes of a buffer hold what shared memory held.
void note_stored(Block& block, std::uint32_t from, const Buffer& buffer, std::uint64_t offset,
                 std::uint32_t bytes, const BulkCopy& copy);

// … and bytes of shared memory what another block's held; source: none for bytes from registers.
void note_moved(Block& block, std::uint32_t to, Block* source, std::uint32_t from, std::uint32_t bytes);

// ---- copy_ops.cc ----
// a: source, b: destination, c: source size or predicate; aux: memory_ops of the source, then of the
// destination. imm of cp.async: these flags.
inline constexpr std::uint64_t kCopySourceSize = 1, kCopyIgnoreSource = 2, kCopyNegated = 4;
void run_copy_async(Warp&, const Instr&, LaneMask);
void run_copy_commit(Warp&, const Instr&, LaneMask);
inline constexpr std::uint64_t kCopyWaitAll = std::uint64_t{1} << 32;
void run_copy_wait(Warp&, const Instr&, LaneMask);  // imm: groups that may be pending, or kCopyWaitAll

// ---- mbarrier_ops.cc ----
enum class MbarrierOp : std::uint8_t {
  kInit,
  kInvalidate,
  kArrive,
  kExpect,
  kComplete,
  kTest,
  kTry,
  kCopyArrive
};
struct MbarrierForm {
  MbarrierOp op = MbarrierOp::kInit;
  bool expects = false;       // arrive.expect_tx
  bool no_complete = false;   // arrive.noComplete
  bool parity = false;        // waits by parity rather than by state
  bool relaxed = false;       // no release or acquire
  bool no_increment = false;  // cp.async.mbarrier.arrive.noinc
  bool state = false;         // an arrival that returns the state
  bool drops = false;         // arrive_drop
};
inline std::uint64_t encode(MbarrierForm form) {
  return static_cast<std::uint64_t>(form.op) | (form.expects ? 1u << 8 : 0u) |
         (form.no_complete ? 1u << 9 : 0u) | (form.parity ? 1u << 10 : 0u) | (form.relaxed ? 1u << 11 : 0u) |
         (form.no_increment ? 1u << 12 : 0u) | (form.state ? 1u << 13 : 0u) | (form.drops ? 1u << 14 : 0u);
}
inline MbarrierForm decode_mbarrier(std::uint64_t imm) {
  return {static_cast<MbarrierOp>(imm & 0xff),
          (imm & (1u << 8)) != 0,
          (imm & (1u << 9)) != 0,
          (imm & (1u << 10)) != 0,
          (imm & (1u << 11)) != 0,
          (imm & (1u << 12)) != 0,
          (imm & (1u << 13)) != 0,
          (imm & (1u << 14)) != 0};
}
// aux: memory_ops; a: address; b: count, bytes, parity or state; d: state, or the predicate of a wait.
void run_mbarrier(Warp&, const Instr&, LaneMask);
// imm of a proxy fence: fence.proxy.async of these spaces, or fence.mbarrier_init.
inline constexpr std::uint64_t kFencesShared = 1, kFencesGlobal = 2, kFencesInit = 4;
void run_proxy_fence(Warp&, const Instr&, LaneMask);
// Whether the initialisation of an mbarrier of `owner` is ordered before what a lane of `block` does now.
bool init_ordered(Block& block, const Mbarrier& barrier, const Block& owner, unsigned warp, unsigned lane);
void run_pending_count(Warp&, const Instr&, LaneMask);  // d = arrivals that the state a lacks

// A store, or an asynchronous write, over bytes of `owner` that may be those of an mbarrier.
void note_mbarrier_overwritten(Warp& warp, std::uint32_t instr, unsigned lane, Block& owner,
                               std::uint32_t begin, std::uint32_t bytes);

// ---- bulk_ops.cc ----
enum class BulkForm : std::uint8_t { kLoad, kStore, kTensorLoad, kTensorStore, kSharedCopy };
// aux: memory_ops: shared side, global side, map, or source in shared memory, mbarrier (loads). List: shared
// address, the other address, mbarrier address (loads), then bytes (no tensor) or coordinates, then the mask
// of blocks.
struct BulkInstr {
  BulkForm form = BulkForm::kLoad;
  std::uint32_t rank = 0;  // of the tensor
  bool multicast = false;
  bool reduces = false;  // stores
  AtomicOp op = AtomicOp::kAdd;
  Type type = Type::kNone;  // of a reduction without a map
};
inline std::uint64_t encode(const BulkInstr& i) {
  return static_cast<std::uint64_t>(i.form) | (i.rank << 8) | (i.multicast ? 1u << 16 : 0u) |
         (i.reduces ? 1u << 17 : 0u) | (static_cast<std::uint64_t>(i.op) << 24) |
         (static_cast<std::uint64_t>(i.type) << 32);
}
inline BulkInstr decode_bulk(std::uint64_t imm) {
  return {static_cast<BulkForm>(imm & 0xff),
          static_cast<std::uint32_t>(imm >> 8) & 0xff,
          (imm & (1u << 16)) != 0,
          (imm & (1u << 17)) != 0,
          static_cast<AtomicOp>((imm >> 24) & 0xff),
          static_cast<Type>((imm >> 32) & 0xff)};
}
void run_bulk_copy(Warp&, const Instr&, LaneMask);
// st.async. aux: memory_ops of the destination (its list: the values) and of the mbarrier; a, b: their
// addresses.
void run_store_async(Warp&, const Instr&, LaneMask);
// ---- tensor_map_ops.cc ----
enum class MapField : std::uint8_t {
  kAddress,
  kRank,
  kBox,
  kDim,
  kStride,
  kElementStride,
  kElement,
  kInterleave,
  kSwizzle,
  kFill,
  kAtomicity
};
void run_map_replace(Warp&, const Instr&,
                     LaneMask);  // a: map, b: value; imm: field | ordinal << 8 | 64 bits << 16
void run_map_copy(Warp&, const Instr&, LaneMask);  // cp_fenceproxy: a to, b from; aux: memory_ops of both
void run_map_release(Warp&, const Instr&, LaneMask);
void run_map_acquire(Warp&, const Instr&, LaneMask);  // a: map

void run_bulk_commit(Warp&, const Instr&, LaneMask);
void run_bulk_wait(Warp&, const Instr&, LaneMask);  // imm: groups that may be pending | read << 32

}  // namespace moe4::ptx
