// mbarriers: phases, arrivals and transaction bytes (PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier"). Their state is kept beside the 8 bytes of shared memory that name them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "gpu/ptx/run/clocks.h"

namespace moe4::ptx {

struct Mbarrier {
  static constexpr std::uint32_t kMaxCount = (1u << 20) - 1;

  std::uint32_t expected = 0;     // arrivals a phase
  std::uint32_t pending = 0;      // arrivals that the current phase lacks
  std::int64_t transactions = 0;  // bytes expected and not yet copied
  std::uint64_t phase = 0;        // phases that have ended
  unsigned agent = 0;             // WarpClocks
  BlockClock arriving, ended;     // what arrivals have let go on; … up to the end of the last phase
  Who init;
  std::uint32_t init_instr = 0;
  bool init_fenced = false;  // a proxy or mbarrier_init fence followed the initialisation

  // True when the phase ended with this.
  bool settle() {
    if (pending != 0 || transactions != 0) return false;
    pending = expected;
    ++phase;
    ended = arriving;
    return true;
  }
};

// By address in shared memory.
class Mbarriers {
 public:
  void clear() { barriers_.clear(); }
  Mbarrier* find(std::uint32_t address) {
    const auto found = barriers_.find(address);
    return found == barriers_.end() ? nullptr : &found->second;
  }
  const Mbarrier* find(std::uint32_t address) const {
    const auto found = barriers_.find(address);
    return found == barriers_.end() ? nullptr : &found->second;
  }
  Mbarrier& make(std::uint32_t address) {
    Mbarrier& barrier = barriers_[address];
    const auto number = static_cast<unsigned>(barriers_.size() - 1);
    barrier = Mbarrier{};
    barrier.agent = kBarrierAgent + number % kBarrierAgents;
    return barrier;
  }
  void erase(std::uint32_t address) { barriers_.erase(address); }
  auto begin() { return barriers_.begin(); }
  auto end() { return barriers_.end(); }

 private:
  std::unordered_map<std::uint32_t, Mbarrier> barriers_;
};

}  // namespace moe4::ptx
