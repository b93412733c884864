// Follows unwritten bytes through a run: each register has the set of lanes whose value may come from one,
// each byte of memory whether it does, and both where they were read. The rule is "any tainted source taints
// the result".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/ptx/run/block.h"

namespace moe4::ptx {

class TaintTracker {
 public:
  // The byte of an output that is known to differ, if one is: its last store is what is looked for.
  struct Watched {
    const Buffer* buffer = nullptr;
    std::uint64_t offset = 0;
  };
  explicit TaintTracker(std::optional<Watched> watched) : watched_(watched) {}

  void start_block(Block& block);
  void execute(Block& block, Warp& warp, std::uint64_t& fuel, std::uint64_t* instructions);

  // Asynchronous copies that land: bytes of shared memory from a buffer (then zeros), and back.
  void copied(Block& block, std::uint32_t to, const Buffer* buffer, std::uint64_t offset,
              std::uint32_t copied, std::uint32_t bytes);
  void stored(Block& block, std::uint32_t from, const Buffer& buffer, std::uint64_t offset,
              std::uint32_t bytes, const Place& place);
  void moved(Block& block, std::uint32_t to, Block* source, std::uint32_t from, std::uint32_t bytes);

  // The first branch or address that depends on unwritten bytes, else the store to the watched byte.
  std::optional<Finding> finding() const;

 private:
  using Origin = std::uint32_t;  // index into origins_; 0 clean, 1 not written yet
  static constexpr Origin kClean = 0, kUnwritten = 1;
  struct Source {
    Place place;
    std::string what;
  };
  struct Value {
    LaneMask lanes = 0;
    Origin origin = kClean;
  };
  struct WarpState {
    std::vector<Value> registers;  // by offset / 64
    std::vector<Value> predicates;
    std::vector<Origin> local;  // bytes of all lanes
  };
  struct BlockState {
    std::vector<WarpState> warps;
    std::vector<Origin> shared;
  };

  void before(Block& block, Warp& warp, const Instr& instr, LaneMask mask);
  Value sources(Block& block, Warp& warp, const Instr& instr);
  void load(Block& block, Warp& warp, const Instr& instr, const MemoryOp& op, LaneMask mask);
  void store(Block& block, Warp& warp, const Instr& instr, const MemoryOp& op, LaneMask mask);
  void matrix(Block& block, Warp& warp, const Instr& instr, const MemoryOp& op);
  Value product(Block& block, Warp& warp, const Instr& instr);
  void matters(Block& block, const Warp& warp, const Instr& instr, unsigned lane, Origin origin,
               std::string how);
  Origin read_byte(Block& block, const Warp& warp, const Instr& instr, const MemoryOp& op, unsigned lane,
                   std::uint64_t address);
  void write_byte(Block& block, const Warp& warp, const Instr& instr, const MemoryOp& op, unsigned lane,
                  std::uint64_t address, Origin origin);
  Origin origin_here(Block& block, const Warp& warp, const Instr& instr, unsigned lane, std::string what);
  Value& value_of(Warp& warp, std::uint32_t operand, bool predicate);
  void assign(Value& to, LaneMask mask, const Value& from);
  // kUnwritten becomes an origin at the instruction that reads it.
  void settle(Block& block, Warp& warp, const Instr& instr, Value& value);

  std::optional<Watched> watched_;
  std::vector<Source> origins_{2};
  std::unordered_map<std::uint64_t, Origin> reads_;  // one origin an instruction and space
  std::unordered_map<std::uint64_t, BlockState> blocks_;
  struct Stored {
    Origin origin = kClean;
    Place place;
  };
  std::unordered_map<std::uint64_t, Stored> global_;  // by address; what stores of this launch have left
  BlockState* current_ = nullptr;
  std::optional<Finding> first_;
};

}  // namespace moe4::ptx
