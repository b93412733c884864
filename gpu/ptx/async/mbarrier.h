// mbarriers: phases, arrivals and transaction bytes (PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier"). Their state is kept beside the 8 bytes of shared memory that name them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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
  struct Overwrite {
    std::uint32_t instr = 0, warp = 0, lane = 0;
    std::uint32_t block = 0;  // rank in the cluster
  };
  std::optional<Overwrite> overwritten;  // something was stored over its bytes
  // … fence.mbarrier_init: who has waited for this phase of the cluster barrier sees the initialisation. 0:
  // none.
  std::uint64_t init_phase = 0;

  bool idle() const { return pending == expected && transactions == 0; }
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
  static constexpr std::uint32_t kBytes = 8;
  void clear() {
    barriers_.clear();
    low_ = ~std::uint32_t{0};
    high_ = 0;
  }
  // Calls visit(address, barrier) for those that have bytes in [begin, begin + bytes).
  template <class Visit>
  void for_overlapping(std::uint32_t begin, std::uint32_t bytes, const Visit& visit) {
    if (begin >= high_ || begin + bytes <= low_) return;
    const std::uint32_t end = std::min(begin + bytes, high_);
    for (std::uint32_t at = std::max(begin, low_) / kBytes * kBytes; at < end; at += kBytes) {
      if (Mbarrier* barrier = find(at)) visit(at, *barrier);
    }
  }
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
    low_ = std::min(low_, address);
    high_ = std::max(high_, address + kBytes);
    return barrier;
  }
  void erase(std::uint32_t address) { barriers_.erase(address); }
  auto begin() { return barriers_.begin(); }
  auto end() { return barriers_.end(); }

 private:
  std::uint32_t low_ = ~std::uint32_t{0}, high_ = 0;  // where there are any
  std::unordered_map<std::uint32_t, Mbarrier> barriers_;
};

}  // namespace moe4::ptx
