// What a block has started and not yet completed: copies and matrix products that happen on their own time.
//
// An operation takes effect when the schedule says so: by default and whenever nothing else decides it, at
// its last legal moment (the wait that it must not outlast, or when nobody can go on without it); under a
// seed also earlier. Until a wait has made it complete, its bytes are pending, and whoever touches them is
// reported.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/ptx/async/bulk_copy.h"
#include "gpu/ptx/async/map_fences.h"
#include "gpu/ptx/async/mbarrier.h"
#include "gpu/ptx/run/races.h"
#include "gpu/ptx/tensor/wgmma.h"
#include "gpu/ptx/tensor/wgmma_registers.h"

namespace moe4::ptx {

class Block;
struct Buffer;

// cp.async of the lanes of one instruction, or (arrives) cp.async.mbarrier.arrive of them.
struct CopyOp {
  std::uint32_t instr = 0;
  LaneMask lanes = 0;   // not complete yet
  LaneMask landed = 0;  // … whose bytes are in place already
  bool arrives = false;
  bool counts = false;                        // the arrival has raised the pending count (no .noinc)
  std::uint32_t bytes = 0;                    // of the destination
  std::array<std::uint32_t, kLanes> group{};  // number of the lane's group
  std::array<std::uint32_t, kLanes> to{};     // shared memory; the mbarrier, when it arrives
  std::array<const Buffer*, kLanes> buffer{};
  std::array<std::uint64_t, kLanes> from{};        // offset in the buffer
  std::array<std::uint32_t, kLanes> from_bytes{};  // the rest is zero
};

class Async {
 public:
  explicit Async(Block& block) : block_(block) {}
  void start();

  // ---- copy_ops.cc: cp.async, groups of a thread
  void issue(Warp& warp, CopyOp op);
  void commit_copies(Warp& warp, LaneMask lanes);
  // Completes all but the newest `allowed` groups of each lane; everything: also what was not committed.
  void wait_copies(Warp& warp, LaneMask lanes, std::uint32_t allowed, bool everything);

  // ---- bulk_ops.cc: bulk copies and TMA
  void issue(Warp& warp, BulkCopy copy);
  void commit_bulk(Warp& warp, LaneMask lanes);
  void wait_bulk(Warp& warp, LaneMask lanes, std::uint32_t allowed, bool read_only);

  // ---- wgmma_ops.cc
  void issue(Warp& warp, MatrixOp op);
  void commit_matrices(Warp& warp);
  void wait_matrices(Warp& warp, std::uint32_t allowed);
  // Those of the groups before `end_group` take effect, in order.
  void execute_matrices(Warp& warp, std::uint32_t end_group);
  HeldRegisters& held(const Warp& warp);

  // ---- mbarrier_ops.cc
  Mbarriers& mbarriers() { return mbarriers_; }
  MapFences& map_fences() { return map_fences_; }  // tensor_map_ops.cc
  std::string describe_wait(std::uint32_t barrier, std::uint64_t phase) const;
  // Called when a phase may have ended: the lanes that wait for it go on.
  void phase_ended(std::uint32_t barrier);

  // ---- progress
  // One operation that others may wait for takes effect; false: there is none.
  bool land_one(bool only_awaited = false);
  void land_any();  // under a seed: perhaps one, whether somebody waits for it or not
  void finish();    // the block has ended: what is pending is reported, and takes effect

  // The pending operation whose bytes hold this address of shared memory.
  struct Pending {
    std::uint32_t instr = 0;
    unsigned warp = 0, lane = 0;
    std::string what;    // "copy (cp.async)"
    unsigned block = 0;  // rank in the cluster of who issued it
  };
  std::optional<Pending> find(std::uint32_t address, bool writes_only) const;

 private:
  struct WarpState {
    std::deque<CopyOp> copies;
    std::array<std::uint32_t, kLanes> copy_group{};  // the open one
    std::array<std::uint32_t, kLanes> bulk_group{};
    std::deque<MatrixOp> matrices;
    std::uint32_t matrix_group = 0;
    std::size_t matrices_issued = 0;
    HeldRegisters held;
  };
  void land(const CopyOp& op, LaneMask lanes);
  void complete(Warp& warp, CopyOp& op, LaneMask lanes, const std::array<Who, kLanes>& who);
  void fire_arrivals(Warp& warp, std::size_t index);  // of copies[index]
  void land(BulkCopy& copy);
  void complete(BulkCopy& copy);
  void complete_global(const BulkCopy& copy, Who who);
  void release_source(BulkCopy& copy);
  template <class Visit>
  void for_pieces(const BulkCopy& copy, const Visit& visit);

  Block& block_;
  std::vector<WarpState> warps_;
  std::deque<BulkCopy> bulk_;  // in the order of issue
  Mbarriers mbarriers_;
  MapFences map_fences_;
  std::vector<std::vector<MatrixOp>> sequences_;  // what each warpgroup has issued
};

}  // namespace moe4::ptx
