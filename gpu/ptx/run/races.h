// Data races by happens-before, at the cost of a few comparisons an access: an access is ordered before
// another one when the other's warp knows its epoch (clocks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gpu/ptx/run/clocks.h"

namespace moe4::ptx {

// Sets of wgmma that have read a cell. All cells of a tile have the same few sets, so a cell has a number.
struct MatrixRead {
  Who who;  // the matrix agent of a warp
  std::uint32_t instr = 0;
};
class MatrixReads {
 public:
  void clear();
  const std::vector<MatrixRead>& operator[](std::uint32_t set) const { return sets_[set]; }
  // The set with one more; a later read by a warp takes the place of its earlier one.
  std::uint32_t with(std::uint32_t set, const MatrixRead& read);
  std::uint32_t add(std::vector<MatrixRead> set);
  bool full() const { return sets_.size() > 1u << 16; }  // time to drop those that no cell has

 private:
  std::vector<std::vector<MatrixRead>> sets_{{}};
  Who last_;  // `made_` holds what became of sets by a read of `last_`
  std::unordered_map<std::uint32_t, std::uint32_t> made_;
};

// Races in the shared memory of one block.
class SharedRaces {
 public:
  // granule: bytes that every store covers whole.
  void start(std::uint32_t bytes, unsigned granule, unsigned warps, unsigned rank = 0,
             const std::uint64_t* cluster = nullptr);
  WarpClocks& clocks() { return clocks_; }

  struct Conflict {
    unsigned lane = 0;  // of this access
    unsigned other_warp = 0, other_lane = 0;
    std::uint32_t other_instr = 0;
    bool other_wrote = false;
    enum class Why : std::uint8_t {
      kUnordered,
      kPending,  // with an asynchronous operation that nobody has waited for; `other_…` is not set
      kNoFence,  // an ordinary write is not made visible to the asynchronous proxy
    } why = Why::kUnordered;
    unsigned other_block = 0;  // rank in the cluster
  };
  // peer: the clocks of another block of the cluster that accesses this memory; none: the block itself.
  // False: no race. Otherwise the access that this one races with. second: another lane that reads the same
  // bytes in this instruction, `lane` itself when there is none.
  bool read(unsigned warp, unsigned lane, unsigned second, std::uint32_t offset, std::uint32_t bytes,
            bool strong, std::uint32_t instr, Conflict* conflict, const WarpClocks* peer = nullptr);
  bool write(unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes, bool strong,
             std::uint32_t instr, Conflict* conflict, const WarpClocks* peer = nullptr);

  // An asynchronous operation is issued by a lane: its bytes are pending from now on. async_proxy: it reads
  // or writes through the asynchronous proxy (all but cp.async).
  bool issue(bool writes, unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes,
             bool async_proxy, Conflict* conflict, const WarpClocks* peer = nullptr);
  // … and is complete: from now on it counts as an access of `who`.
  // issuer: the block of `warp`, the block itself by default.
  void complete(bool writes, Who who, unsigned warp, std::uint32_t offset, std::uint32_t bytes,
                std::uint32_t instr, std::optional<unsigned> issuer = {});
  // A copy to another block has read these bytes; what it told that block orders what comes next.
  void end_read(std::uint32_t offset, std::uint32_t bytes);

 private:
  struct Cell {
    Who writer;
    std::uint32_t writer_instr = 0;  // bits 27 and up: the warp, where Who::async
    Who readers[2];
    std::uint32_t reader_instr[2] = {0, 0};  // bits 27 and up: a second lane, where Who::several
    std::uint16_t pending_reads = 0, pending_writes = 0;
    // Ranks in the cluster: whose clock orders the access, and who has issued the write.
    std::uint8_t writer_block = 0, writer_issuer = 0, reader_block[2] = {0, 0};
    std::uint32_t matrix_readers = 0;  // a set of matrix_sets_: every wgmma that has read it; 0: none
  };
  Conflict conflict_with_writer(const Cell& cell, unsigned lane) const;
  Conflict conflict_with_reader(const Cell& cell, unsigned slot, unsigned warp, unsigned lane,
                                unsigned rank) const;

  const MatrixRead* unordered_matrix_read(const Cell& cell, const WarpClocks& clocks, unsigned warp,
                                          unsigned lane) const;
  Conflict conflict_with(const MatrixRead& read, unsigned lane) const;

  std::vector<Cell> cells_;
  MatrixReads matrix_reads_;
  bool used_ = false;
  unsigned shift_ = 2;
  WarpClocks clocks_;
};

// What blocks have released to each other, by address, for runs whose blocks communicate.
class GlobalSync {
 public:
  // A write to `address` that lets others see what `from` knows (release, or relaxed after a fence).
  void release(std::uint64_t address, std::uint64_t block, const BlockClock& from);
  const OtherBlocks* released(std::uint64_t address) const;  // nullptr: nothing
  WarpClock& map_releases(std::uint64_t block) {
    return map_releases_[block];
  }  // async/map_fences.h, by warp

 private:
  std::unordered_map<std::uint64_t, OtherBlocks> released_;
  std::unordered_map<std::uint64_t, WarpClock> map_releases_;
};

// Races in a writable buffer, one cell a granule.
struct GlobalCell {
  struct Use {
    std::uint32_t block = 0;  // + 1; kManyBlocks
    Who who;
    std::uint32_t instr = 0;
  };
  Use writer;
  Use readers[2];  // of different blocks
};
inline constexpr std::uint32_t kManyBlocks = 0xffffffffu;

}  // namespace moe4::ptx
