// One bulk copy: a run of bytes, or a box of a tensor, between global and shared memory, or from one block's
// shared memory or registers to another's. The block whose shared memory it writes keeps it, else the one
// that issued it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/ptx/program/program.h"
#include "gpu/ptx/tensor_map.h"

namespace moe4::ptx {

struct Buffer;

struct BulkCopy {
  std::uint32_t instr = 0, warp = 0, lane = 0;
  std::uint32_t issuer = 0;  // rank in the cluster of the block of `warp`
  bool load = true;          // it writes shared memory, and an mbarrier there completes it
  enum class From : std::uint8_t { kGlobal, kShared, kRegisters } from = From::kGlobal;  // of a load
  std::uint32_t from_shared = 0;          // kShared: where in the issuer's
  std::array<std::byte, 32> registers{};  // kRegisters: the bytes themselves
  bool reduces = false;                   // a store that combines with what is there
  AtomicOp op = AtomicOp::kAdd;
  Type type = Type::kNone;
  bool landed = false;
  bool read = false;              // store: its source is free again (wait_group.read) …
  std::vector<std::byte> source;  // … and was this
  std::uint32_t shared = 0;       // begin in shared memory
  std::uint32_t bytes = 0;        // … of it; the whole box
  std::uint32_t barrier = 0;      // load: the mbarrier that completes it
  std::uint32_t group = 0;        // store: the lane's bulk group
  Buffer* buffer = nullptr;       // a run: the global side
  std::uint64_t offset = 0;
  bool tensor = false;
  TensorMap map;
  std::array<std::int32_t, 5> at{};  // coordinates of the box, fastest first
};

// Calls visit(shared address, global address, bytes) for the pieces of a box, at most 16 bytes each unless
// they lie side by side on both sides; global address 0: outside the tensor.
template <class Visit>
void for_box(const BulkCopy& copy, const Visit& visit) {
  const TensorMap& map = copy.map;
  const std::uint32_t e = map.element_bytes, row_bytes = map.box[0] * e;
  std::array<std::uint32_t, 5> i{};
  std::uint32_t rows = 1;
  for (unsigned d = 1; d < map.rank; ++d) rows *= map.box[d];
  const auto swizzled = [&](std::uint32_t address) {
    const std::uint32_t mask = map.swizzle == Swizzle::k128B  ? 7
                               : map.swizzle == Swizzle::k64B ? 3
                               : map.swizzle == Swizzle::k32B ? 1
                                                              : 0;
    return address ^ (((address >> 7) & mask) << 4);
  };
  for (std::uint32_t row = 0; row < rows; ++row) {
    bool inside = true;
    std::uint64_t global = map.address;
    for (unsigned d = 1; d < map.rank; ++d) {
      const std::int64_t at = std::int64_t{copy.at[d]} + i[d];
      inside = inside && at >= 0 && static_cast<std::uint64_t>(at) < map.dims[d];
      global += static_cast<std::uint64_t>(at) * map.strides[d];
    }
    const std::int64_t first = copy.at[0];
    const auto dim = static_cast<std::int64_t>(map.dims[0]);
    const std::uint32_t begin = copy.shared + row * row_bytes;
    // Elements [low, high) of the row lie inside the tensor.
    const std::int64_t low =
        inside ? std::min<std::int64_t>(std::max<std::int64_t>(-first, 0), map.box[0]) : map.box[0];
    const std::int64_t high =
        inside ? std::max<std::int64_t>(std::min<std::int64_t>(dim - first, map.box[0]), low) : map.box[0];
    const auto part = [&](std::uint32_t from, std::uint32_t to, bool filled) {
      while (from < to) {
        std::uint32_t bytes = to - from;
        if (map.swizzle != Swizzle::kNone) bytes = std::min(bytes, 16 - (begin + from) % 16);
        const std::uint64_t source =
            global + static_cast<std::uint64_t>(first * static_cast<std::int64_t>(e)) + from;
        visit(swizzled(begin + from), filled ? source : 0, bytes);
        from += bytes;
      }
    };
    part(0, static_cast<std::uint32_t>(low) * e, false);
    part(static_cast<std::uint32_t>(low) * e, static_cast<std::uint32_t>(high) * e, true);
    part(static_cast<std::uint32_t>(high) * e, row_bytes, false);
    for (unsigned d = 1; d < map.rank; ++d) {
      if (++i[d] < map.box[d]) break;
      i[d] = 0;
    }
  }
}

}  // namespace moe4::ptx
