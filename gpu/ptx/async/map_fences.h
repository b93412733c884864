// The proxy fences of tensor maps: TMA reads a map through a proxy of its own. What a kernel writes into one
// in global memory needs fence.proxy.tensormap::generic.release (or tensormap.cp_fenceproxy) behind the write
// and fence.proxy.tensormap::generic.acquire of it before the use.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "gpu/ptx/run/clocks.h"

namespace moe4::ptx {

class Block;
struct Buffer;

// Of one block.
class MapFences {
 public:
  void start() {
    released_.fill(0);
    acquired_.clear();
  }
  void release(Block& block, unsigned warp);
  void acquire(Block& block, unsigned warp, unsigned lane, std::uint64_t address);
  // A lane uses the map at `offset` of a writable buffer; reports the fence that is missing.
  void check_use(Block& block, Warp& warp, std::uint32_t instr, unsigned lane, const Buffer& buffer,
                 std::uint64_t offset);

 private:
  // What tells two contents of a map apart: who wrote which of its bytes.
  static std::uint64_t state_of(const Buffer& buffer, std::uint64_t offset);
  struct Acquired {
    std::uint64_t state = 0;
    Who who;
  };
  std::array<std::uint32_t, kMaxWarps> released_{};                  // the epoch of each warp's last release
  std::map<std::pair<std::uint64_t, unsigned>, Acquired> acquired_;  // by address and warp
};

}  // namespace moe4::ptx
