// A warp in execution: its registers, where its lanes are, and what it has done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/ptx/program/program.h"

namespace moe4::ptx {

class Block;

// Lanes of a warp that are at one instruction.
struct Fragment {
  enum class State : std::uint8_t {
    kReady,
    kConverging,  // at a collective instruction that needs more lanes than have come
    kBlocked,     // waits at a block barrier
    kWaiting,     // waits for a phase of an mbarrier, in front of the instruction
  };
  std::uint32_t pc = 0;
  LaneMask lanes = 0;
  State state = State::kReady;
  LaneMask needs = 0;         // kConverging: the live lanes among these must be here
  std::uint32_t barrier = 0;  // kBlocked: its number; kWaiting: the mbarrier's address
  std::uint64_t phase = 0;    // kWaiting: the number of the phase that has to end
  LaneMask due = 0;           // kConverging at an aligned barrier: lanes that had more to do than to exit
};

enum class WarpStop : std::uint8_t {
  kNone,
  kReschedule,  // the lanes that run must be chosen anew
  kYield,       // spins on memory: let others run
  kEnd,         // the block is over (a fault)
};

struct Warp {
  std::byte* base[2] = {nullptr, nullptr};  // register file, constants
  LaneMask* predicates = nullptr;
  const Instr* code = nullptr;
  const Function* function = nullptr;
  Block* block = nullptr;

  std::uint32_t pc = 0;     // of the next instruction of the running lanes
  std::uint32_t limit = 0;  // stop in front of this one: other lanes wait there or it is the end
  LaneMask active = 0;      // running lanes
  LaneMask live = 0;        // not exited
  LaneMask carry = 0;       // CC.CF of each lane
  std::uint32_t index = 0;
  WarpStop stop = WarpStop::kNone;

  std::vector<Fragment> others;  // the lanes that do not run now
  bool rotate = false;           // lowest-pc-first is suspended for the next choice: the lowest lanes spin
  std::uint32_t backward = 0;    // backward branches since the lanes were chosen
  std::uint32_t polls = 0;       // backward branches after a load or atomic that others may answer
  bool polled = false;
  bool idle = false;       // gave up its last turn, and no other warp of the block has done anything since
  LaneMask timed_out = 0;  // lanes whose wait for an mbarrier ends without success
  LaneMask tried = 0;      // lanes that have tried in vain at `tried_at`
  std::uint32_t tried_at = 0;
  std::uint32_t max_registers = 0;  // by setmaxnreg; 0: never set

  std::uint64_t hash = 0;  // of branches taken and addresses used
  std::uint64_t instructions = 0, lane_instructions = 0;
};

// Where the running lanes must stop: at the next place where others wait.
void set_limit(Warp& warp);

// The instruction that runs, by number.
inline std::uint32_t instr_index(const Warp& warp, const Instr& instr) {
  return static_cast<std::uint32_t>(&instr - warp.code);
}

// Branches and addresses enter a hash: two runs that differ only in unwritten memory must have the same one.
inline void hash_path(Warp& warp, std::uint64_t value) {
  warp.hash = (warp.hash ^ value) * 0x9fb21c651e98df25u;
  warp.hash ^= warp.hash >> 32;
}

template <class T>
inline T* lanes(Warp& warp, std::uint32_t operand) {
  return reinterpret_cast<T*>(warp.base[operand >> 31] + (operand & ~kConstant));
}

}  // namespace moe4::ptx
