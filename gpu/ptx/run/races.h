// Data races by happens-before, at the cost of a few comparisons an access.
//
// Each warp has an epoch, counted up where it lets others go on: at barriers, at warp barriers, at releases.
// WarpClock holds, for each warp of the block, the epoch up to which its accesses are known to have happened.
// An access is ordered before another one when the other's warp knows its epoch; between lanes of one warp,
// when a warp barrier of both lies between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu/ptx/memory/sparse_bytes.h"
#include "gpu/ptx/program/program.h"
#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

inline constexpr unsigned kMaxWarps = 32;
using WarpClock = std::array<std::uint32_t, kMaxWarps>;

inline void join(WarpClock& to, const WarpClock& from) {
  for (unsigned i = 0; i < kMaxWarps; ++i) to[i] = to[i] < from[i] ? from[i] : to[i];
}

// Who made an access, packed: epoch 20 bits, several 1, strong 1, warp 5, lane 5. 0: nobody.
struct Who {
  static constexpr std::uint32_t kSeveral = 1u << 11;  // more lanes than the one that is named
  std::uint32_t bits = 0;

  static Who make(std::uint32_t epoch, bool strong, unsigned warp, unsigned lane) {
    return {(epoch << 12) | (strong ? 1u << 10 : 0u) | (warp << 5) | lane};
  }
  bool nobody() const { return bits == 0; }
  unsigned lane() const { return bits & 31; }
  unsigned warp() const { return (bits >> 5) & 31; }
  bool strong() const { return (bits >> 10) & 1; }  // atomic, volatile, relaxed …: no race with its like
  bool several() const { return bits & kSeveral; }
  std::uint32_t epoch() const { return bits >> 12; }
};
inline constexpr std::uint32_t kMaxEpoch = (1u << 20) - 1;

// The clocks of the warps of a block.
class WarpClocks {
 public:
  void start(unsigned warps);
  std::uint32_t epoch(unsigned warp) const { return clocks_[warp][warp]; }
  const WarpClock& clock(unsigned warp) const { return clocks_[warp]; }
  WarpClock& clock(unsigned warp) { return clocks_[warp]; }

  // All lanes that live are in step, and what follows is a new epoch.
  void warp_barrier(const Warp& warp, LaneMask lanes);
  // Once the epochs of a warp are used up, everything counts as ordered.
  void advance(unsigned warp) {
    if (clocks_[warp][warp] < kMaxEpoch) {
      ++clocks_[warp][warp];
    } else {
      exhausted_ = true;
    }
  }
  bool ordered(Who before, unsigned warp, unsigned lane) const {
    if (exhausted_) return true;
    if (before.warp() != warp) return clocks_[warp][before.warp()] >= before.epoch();
    if ((before.lane() == lane && !before.several()) || before.epoch() < in_step_[warp]) return true;
    return !pairs_[warp].empty() && !before.several() &&
           before.epoch() < pairs_[warp][lane * kLanes + before.lane()];
  }

 private:
  bool exhausted_ = false;
  std::array<WarpClock, kMaxWarps> clocks_{};
  std::array<std::uint32_t, kMaxWarps> in_step_{};  // accesses of earlier epochs are known to the whole warp
  std::array<std::vector<std::uint32_t>, kMaxWarps> pairs_;  // [lane][other]: … to this lane, of the other
};

// Races in the shared memory of one block.
class SharedRaces {
 public:
  // granule: bytes that every store covers whole.
  void start(std::uint32_t bytes, unsigned granule, unsigned warps);
  WarpClocks& clocks() { return clocks_; }

  struct Conflict {
    unsigned lane = 0;  // of this access
    unsigned other_warp = 0, other_lane = 0;
    std::uint32_t other_instr = 0;
    bool other_wrote = false;
  };
  // False: no race. Otherwise the access that this one races with. second: another lane that reads the same
  // bytes in this instruction, `lane` itself when there is none.
  bool read(unsigned warp, unsigned lane, unsigned second, std::uint32_t offset, std::uint32_t bytes,
            bool strong, std::uint32_t instr, Conflict* conflict);
  bool write(unsigned warp, unsigned lane, std::uint32_t offset, std::uint32_t bytes, bool strong,
             std::uint32_t instr, Conflict* conflict);

 private:
  struct Cell {
    Who writer;
    std::uint32_t writer_instr = 0;
    Who readers[2];
    std::uint32_t reader_instr[2] = {0, 0};  // bits 27 and up: a second lane, where Who::several
  };
  std::vector<Cell> cells_;
  bool used_ = false;
  unsigned shift_ = 2;
  WarpClocks clocks_;
};

// What blocks know of each other, for runs whose blocks communicate: grown by release and acquire.
class GlobalSync {
 public:
  using Known = std::map<std::uint64_t, WarpClock>;  // by block

  // A write to `address` that lets others see what `from` knows (release, or relaxed after a fence).
  void release(std::uint64_t address, std::uint64_t block, const WarpClock& clock, const Known& known);
  const Known* released(std::uint64_t address) const;  // nullptr: nothing
  Known& known(std::uint64_t block) { return known_[block]; }
  bool ordered(std::uint64_t block, std::uint64_t other, Who who) const;

 private:
  std::unordered_map<std::uint64_t, Known> released_;  // by address
  std::unordered_map<std::uint64_t, Known> known_;
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
