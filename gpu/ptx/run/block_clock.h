// What somebody knows to have happened: epochs of warps, of single lanes, of asynchronous agents, and of the
// warps of other blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace moe4::ptx {

inline constexpr unsigned kMaxWarps = 32;
using WarpClock = std::array<std::uint32_t, kMaxWarps>;

inline void join(WarpClock& to, const WarpClock& from) {
  for (unsigned i = 0; i < kMaxWarps; ++i) to[i] = to[i] < from[i] ? from[i] : to[i];
}

// Agents: the copies (cp.async) and the matrix products (wgmma) of each warp, and what completes through each
// mbarrier. More mbarriers than there are agents for share them.
inline constexpr unsigned kCopyAgent = 0, kMatrixAgent = 32, kBarrierAgent = 64, kBarrierAgents = 64;
inline constexpr unsigned kAgents = kBarrierAgent + kBarrierAgents;

// Who made an access, packed: epoch 19 bits, async 1, several 1, strong 1, warp 5, lane 5. 0: nobody.
struct Who {
  // More lanes than the one that is named; of the writer of a global cell: the asynchronous proxy wrote.
  static constexpr std::uint32_t kSeveral = 1u << 11;
  static constexpr std::uint32_t kAsync = 1u << 12;  // an agent in place of warp and lane
  std::uint32_t bits = 0;

  static Who make(std::uint32_t epoch, bool strong, unsigned warp, unsigned lane) {
    return {(epoch << 13) | (strong ? 1u << 10 : 0u) | (warp << 5) | lane};
  }
  static Who make_async(std::uint32_t epoch, unsigned agent) { return {(epoch << 13) | kAsync | agent}; }
  bool nobody() const { return bits == 0; }
  unsigned lane() const { return bits & 31; }
  unsigned warp() const { return (bits >> 5) & 31; }
  bool async() const { return bits & kAsync; }
  unsigned agent() const { return bits & 0x3ff; }
  bool strong() const { return (bits >> 10) & 1; }  // atomic, volatile, relaxed …: no race with its like
  bool several() const { return bits & kSeveral; }
  std::uint32_t epoch() const { return bits >> 13; }
};
inline constexpr std::uint32_t kMaxEpoch = (1u << 19) - 1;
// Of an asynchronous access that no wait has completed: nobody knows it, its own thread included.
inline constexpr std::uint32_t kPendingEpoch = kMaxEpoch;

// Whose ordinary writes a proxy fence makes visible to the asynchronous proxy (TMA, wgmma).
enum class FencedSpace : std::uint8_t { kShared, kGlobal };
inline constexpr std::array kFencedSpaces = {FencedSpace::kShared, FencedSpace::kGlobal};

// Epochs of single lanes, for warps that are not known whole: what one lane has released.
class LaneEpochs {
 public:
  bool empty() const { return list_.empty(); }
  void raise(unsigned warp, unsigned lane, std::uint32_t epoch);
  void join(const LaneEpochs& from);
  // Whether the access is known. One of several lanes: when another lane of the warp is known as well.
  bool knows(Who access) const;
  // A proxy fence lies behind all that is known now; … and behind this access.
  void proxy_fence(FencedSpace space);
  bool proxied(FencedSpace space, Who access) const;
  void raise_proxied(FencedSpace space, unsigned warp, unsigned lane, std::uint32_t epoch);

 private:
  struct Entry {
    std::uint32_t lane = 0;  // warp * 32 + lane
    std::uint32_t epoch = 0;
    std::array<std::uint32_t, 2> proxied{};  // by space
  };
  std::vector<Entry> list_;  // by lane
};

// What is known of other blocks. Copies share it.
class OtherBlocks {
 public:
  struct Block {
    WarpClock warps{};
    WarpClock proxied{};  // of them, in global memory
    LaneEpochs lanes;
  };
  const Block* find(std::uint64_t block) const;  // nullptr: nothing is known of it
  bool knows(std::uint64_t block, Who access) const;
  bool proxied(std::uint64_t block, Who access) const;
  void proxy_fence();
  void join(const OtherBlocks& from);
  void join(std::uint64_t block, const Block& known);

 private:
  std::shared_ptr<const std::map<std::uint64_t, Block>> blocks_;
};

struct ClockWords {
  WarpClock warps{};  // accesses up to an epoch of each warp
  std::array<std::uint32_t, kAgents> agents{};
  // Of the ordinary writes among them, those that a proxy fence lies behind.
  struct Proxied {
    WarpClock warps{};
    WarpClock partly{};  // … by fences of some lanes: WarpClocks::fences_
  };
  std::array<Proxied, 2> proxied{};  // by FencedSpace
  WarpClock proxied_copies{};        // of the copy agents, which write shared memory
};

struct BlockClock : ClockWords {
  LaneEpochs lanes;
  OtherBlocks blocks;

  // Beside what its own warp does: the access is known.
  bool knows(Who access) const {
    if (access.async()) return agents[access.agent()] >= access.epoch();
    return warps[access.warp()] >= access.epoch() || (!lanes.empty() && lanes.knows(access));
  }
};

// What a clock of one block of a cluster tells another block of it.
BlockClock told(const BlockClock& from, std::uint64_t from_block, std::uint64_t to_block);

inline void join(BlockClock& to, const BlockClock& from) {
  constexpr std::size_t kWords = sizeof(ClockWords) / sizeof(std::uint32_t);
  auto* t = reinterpret_cast<std::uint32_t*>(static_cast<ClockWords*>(&to));
  const auto* f = reinterpret_cast<const std::uint32_t*>(static_cast<const ClockWords*>(&from));
  for (std::size_t i = 0; i < kWords; ++i) t[i] = t[i] < f[i] ? f[i] : t[i];
  if (!from.lanes.empty()) to.lanes.join(from.lanes);
  to.blocks.join(from.blocks);
}

}  // namespace moe4::ptx
