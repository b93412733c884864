// The blocks of a cluster: they start together, run in turns on one host thread, use each other's shared
// memory and meet at the cluster barrier. Without clusters, a cluster is one block, and nothing of this is in
// its way.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

// Fragment::barrier of lanes that wait at the cluster barrier; the block's own have numbers 0 to 15.
inline constexpr std::uint32_t kClusterBarrier = 16;

class Cluster {
 public:
  explicit Cluster(Run& run);

  // Starts cluster `number` of the grid; storage of an earlier one is used again.
  void start(std::uint64_t number);
  // Runs until the end, a fault, or until all that can go on poll (serial runs only).
  Block::State resume(std::uint64_t more_instructions, std::uint64_t turn = ~std::uint64_t{0});
  std::uint64_t progress() const;  // grows whenever a block does something that others may wait for
  void deadlocked();               // serial runs: all wait for nothing
  std::uint64_t instructions() const;
  std::vector<Block::Result> take_results();  // by rank

  Block& block(unsigned rank) { return *blocks_[rank]; }
  const std::uint64_t* numbers() const { return numbers_.data(); }  // of the blocks in the grid, by rank
  // Of a block of the grid, if it is of this cluster.
  std::optional<unsigned> rank_of(std::uint64_t linear) const;

  // ---- the barrier: each thread arrives, then waits
  void arrive(Block& block, Warp& warp, std::uint32_t instr, LaneMask lanes, bool releases);
  // Lanes that find the phase incomplete are set aside.
  void wait(Block& block, Warp& warp, std::uint32_t instr, LaneMask lanes);
  void lanes_exited();
  std::uint64_t phase() const { return phase_; }  // phases that are complete
  // The phase that completes with what the lane does next.
  std::uint64_t next_phase(const Block& block, const Warp& warp, unsigned lane) const;
  // Phases whose end the warp has waited for.
  std::uint64_t waited(const Block& block, unsigned warp) const;

 private:
  struct Member {          // a warp
    LaneMask arrived = 0;  // in this phase
    LaneMask due = 0;      // arrived in a phase that is complete, and not waited yet
    std::uint64_t waited = 0;
  };
  Member& member(const Block& block, const Warp& warp) {
    return members_[std::size_t{block.rank()} * run_.warps + warp.index];
  }
  void complete_if_all_came();
  void take_in(Block& block, Warp& warp, LaneMask lanes);
  bool land();
  std::uint64_t length();
  void report_deadlock();

  Run& run_;
  bool alone_ = false;  // one block that knows of no cluster
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Member> members_;               // [rank][warp]
  std::vector<BlockClock> arriving_, ended_;  // what arrivals of each rank let others know, in its own terms
  std::array<std::uint64_t, kMaxCluster> numbers_{};  // of the blocks, in the grid
  std::uint64_t phase_ = 0;
  std::uint64_t random_ = 0;
  std::uint32_t polling_rounds_ = 0;
  // Since a block has last done something: those that could not go on (a bit each), and whether any of them
  // polls.
  std::uint32_t gave_up_ = 0;
  bool polls_ = false;
};

}  // namespace moe4::ptx
