// A thread block in execution. It can be stopped at any instruction and go on later.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/ptx/async/async.h"
#include "gpu/ptx/memory/memory_impl.h"
#include "gpu/ptx/program/program.h"
#include "gpu/ptx/run/races.h"
#include "gpu/ptx/run/warp.h"

namespace moe4::ptx {

class Cluster;
class TaintTracker;

// What all blocks of a launch share.
struct Run {
  const Program* program = nullptr;
  const Function* function = nullptr;
  const Launch* launch = nullptr;
  const Options* options = nullptr;
  Memory::Impl* memory = nullptr;
  Buffer* globals = nullptr;         // .global variables of the module; may be absent
  std::vector<std::byte> constants;  // .const variables
  std::uint32_t static_end = 0, dynamic_begin = 0, shared_end = 0;  // offsets in the shared window
  std::uint32_t threads = 0, warps = 0;                             // a block
  Dim3 cluster;                                                     // blocks of a cluster
  std::uint32_t cluster_blocks = 1;                                 // … in all
  bool explicit_cluster = false;                                    // by the launch or the entry
  std::uint64_t grid_workspace = 0;  // generic address, for the grid barrier of a cooperative launch; 0: none
  bool serial = false;               // blocks run one at a time and may wait on one another
  bool track_global = false;         // buffers record who used what: races, and sharing between blocks
  bool share_check = false;  // blocks run at once: a global location that two of them use must be noticed
  std::atomic<bool> shared_use{false};  // … and one was
  GlobalSync* sync = nullptr;           // serial: who has released what to whom
  TaintTracker* taint = nullptr;        // a run that follows unwritten memory
};

// State of one of the 16 barriers.
struct Barrier {
  bool active = false;
  bool counted = false;
  std::uint32_t expected = 0;    // threads, when counted
  std::uint32_t threads = 0;     // arrived
  std::uint32_t warps = 0;       // arrived, a bit each
  std::uint32_t population = 0;  // of the predicates of bar.red
  bool all = true, any = false;
  std::uint32_t first_instr = 0;  // of the first arrival
  struct Waiting {
    std::uint32_t warp = 0;
    LaneMask lanes = 0;
    std::uint32_t instr = 0;
  };
  std::vector<Waiting> waiting;  // lanes that wait (sync, red)
  BlockClock clock;              // what the arrived warps know
};

// The place of a block in the grid.
inline Dim3 block_of(const Launch& launch, std::uint64_t linear) {
  return {static_cast<std::uint32_t>(linear % launch.grid.x),
          static_cast<std::uint32_t>(linear / launch.grid.x % launch.grid.y),
          static_cast<std::uint32_t>(linear / launch.grid.x / launch.grid.y)};
}

class Block;

// A location through which threads synchronise: shared memory of a block, or global memory by address.
struct SyncLocation {
  std::uint64_t address = 0;
  bool global = false;
  Block* owner = nullptr;  // of shared memory
  std::uint64_t key() const { return global ? address | (std::uint64_t{1} << 63) : address; }
};

// What lanes have seen and not yet taken in, and what they knew at their last fences.
struct LaneSync {
  struct Fenced {
    BlockClock clock;
    std::uint32_t epoch = 0, in_step = 0;  // of the warp, at the fence
  };
  std::optional<Fenced> fenced, fenced_wide;
  std::optional<BlockClock> seen;
};

// … all lanes of a warp together, and lanes that did so alone since.
struct WarpSync {
  LaneSync whole;
  std::array<std::unique_ptr<LaneSync>, kLanes> lanes;
  bool apart = false;  // any of `lanes`
};

class Block {
 public:
  // cluster: none, or the one in which it has rank `rank`.
  explicit Block(Run& run, Cluster* cluster = nullptr, unsigned rank = 0);

  // Starts block `linear` of the grid; storage of an earlier block is used again.
  void start(std::uint64_t linear);
  // kYielded: all that can run only poll. kWaiting: nobody can go on without another block of the cluster.
  enum class State : std::uint8_t { kYielded, kWaiting, kPreempted, kFinished, kFaulted };
  // Runs until the end, a fault, until every warp waits for other blocks (serial runs and clusters only), or
  // until its turn is over: after `turn` instructions or (seeded serial runs) at an access that other blocks
  // may see.
  State resume(std::uint64_t more_instructions, std::uint64_t turn = ~std::uint64_t{0});
  void may_preempt(Warp& warp);
  // Serial runs: all blocks wait for nothing.
  void deadlocked() { report_deadlock(); }
  std::uint64_t instructions() const { return instructions_; }

  // ---- for the handlers ----
  Run& run() { return run_; }
  const Function& function() const { return *run_.function; }
  Dim3 id() const { return id_; }
  std::uint64_t linear() const { return linear_; }
  Cluster* cluster() { return cluster_; }
  unsigned rank() const { return rank_; }
  Block& peer(unsigned rank);  // of the cluster
  bool finished() const { return finished_; }
  // The warp uses shared memory of another block of the cluster, which must have started and not exited.
  // visits: by an access of its own. False: it has exited, and this block is over.
  bool reaches(Warp& warp, std::uint32_t instr, LaneMask lanes, Block& owner, bool visits = true);
  std::byte* shared() { return shared_.data(); }
  std::byte* local(const Warp& warp) {
    return local_.data() + std::size_t{warp.index} * kLanes * local_stride_;
  }
  std::uint32_t local_stride() const { return local_stride_; }
  std::vector<Warp>& warps() { return warps_; }
  Counters& counters() { return counters_; }
  bool checks() const { return checks_; }
  SharedRaces& shared_races() { return shared_races_; }
  Async& async() { return async_; }
  bool seeded() const { return random_ != 0; }
  std::uint64_t next_random();                           // seeded schedules only
  std::string shared_name(std::uint64_t address) const;  // " ('tile' + 16)", " (dynamic + 16)"
  void print(std::string_view text);                     // LaunchReport::printed
  void made_progress() { ++progress_; }                  // something happened that others may wait for
  std::uint64_t progress() const {
    return progress_ + counters_.shared_store_bytes + counters_.global_store_bytes;
  }
  // Time: it passes with instructions and whenever it is read.
  std::uint64_t read_clock() { return instructions_ + 16 * ++clock_reads_; }

  // A finding at instruction `instr`, made by `lane` of `warp`. Those of one check and instruction are
  // counted.
  Finding* report(Check check, const Warp& warp, std::uint32_t instr, unsigned lane, std::string message,
                  std::uint64_t count = 1);
  // … and the block is over.
  void fault(Check check, Warp& warp, std::uint32_t instr, unsigned lane, std::string message,
             std::uint64_t count = 1);
  void stop(Warp& warp);  // the block is over
  Place place(std::uint32_t instr, std::uint32_t warp, unsigned lane) const;

  void arrive(Warp& warp, std::uint32_t instr, LaneMask lanes, std::uint32_t id, std::uint32_t expected,
              bool counted, bool waits, std::uint32_t population);
  void lanes_exited(Warp& warp);
  void release(std::uint32_t id);
  // Waits that may end without success do so; false: there are none, or it was in vain too often.
  bool expire_waits();
  // Who waits where, for the report of a deadlock; place: of the first of them.
  struct Stuck {
    std::string picture;
    const Warp* warp = nullptr;
    std::uint32_t instr = 0;
    unsigned lane = 0;
  };
  Stuck describe_stuck();

  // Happens-before through memory, with checks on only. A release makes what the warp knows readable at a
  // location; a relaxed write does so for what it knew at its last fence. An acquire takes it in; a relaxed
  // read does so at the next fence. `wide`: beyond the block.
  void fence(Warp& warp, LaneMask lanes, bool wide);
  void observe(Warp& warp, LaneMask lanes, const SyncLocation& at, bool acquires, bool wide);
  void publish(Warp& warp, LaneMask lanes, const SyncLocation& at, bool releases, bool wide);
  // What these lanes let others know by a release, or by a relaxed arrival after their last fence; nullopt:
  // nothing.
  std::optional<BlockClock> arrival_clock(const Warp& warp, LaneMask lanes, bool releases);
  // Whether a scope reaches the threads that matter beyond the block.
  bool reaches_out(bool wide, bool cluster_scope) const {
    return wide || (cluster_scope && cluster_ != nullptr);
  }

  struct Result {
    std::vector<Finding> findings;
    std::vector<std::uint64_t> keys;  // check and instruction of each finding
    Counters counters;
    std::uint64_t hash = 0;
    std::uint64_t instructions = 0;
    bool finished = false;
    std::string printed;
  };
  Result take_result();

 private:
  // What these lanes had fenced when they last did; nullopt: nothing.
  std::optional<BlockClock> fenced_clock(const Warp& warp, LaneMask lanes, bool wide);
  BlockClock fenced_by(const Warp& warp, unsigned lane, const LaneSync::Fenced& fenced, bool whole_fence);
  bool run_warp(Warp& warp, std::uint64_t fuel);
  bool choose(Warp& warp, bool rotate);
  void execute(Warp& warp, std::uint64_t& fuel);
  template <bool kHeld>
  void execute_plain(Warp& warp, std::uint64_t& fuel);
  void report_stuck(Warp& warp);
  void report_deadlock();
  bool runnable(const Warp& warp) const;
  bool unblock();  // nobody can go on: an asynchronous operation lands, or waits run into their time limit
  void check_visits();

  // The last use of this block's shared memory by a warp of another block.
  struct Visit {
    std::uint32_t epoch = 0, instr = 0;
    unsigned lane = 0;
  };

  Run& run_;
  Cluster* cluster_ = nullptr;
  unsigned rank_ = 0;
  bool finished_ = false;
  std::vector<Visit> visits_;  // [rank][warp]
  Dim3 id_{0, 0, 0};
  std::uint64_t linear_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::byte> register_storage_;
  std::vector<LaneMask> predicate_storage_;
  std::vector<std::byte> shared_, local_;
  std::uint32_t local_stride_ = 0;
  std::array<Barrier, 16> barriers_;
  std::uint32_t next_warp_ = 0;
  bool checks_ = false;
  bool faulted_ = false;
  bool preempted_ = false;
  std::uint64_t random_ = 0;
  std::uint64_t instructions_ = 0, clock_reads_ = 0;
  std::uint64_t progress_ = 0, progress_at_timeout_ = 0;
  unsigned timeouts_ = 0;  // in a row without progress
  std::uint64_t progress_at_poll_ = 0;
  std::uint32_t polling_rounds_ = 0;  // in a row without progress
  Counters counters_;
  SharedRaces shared_races_;
  Async async_{*this};
  std::vector<WarpSync> syncs_;                             // a warp
  std::unordered_map<std::uint64_t, BlockClock> released_;  // within the block, by SyncLocation::key
  std::vector<Finding> findings_;
  std::vector<std::uint64_t> keys_;
  std::string printed_;
};

}  // namespace moe4::ptx
