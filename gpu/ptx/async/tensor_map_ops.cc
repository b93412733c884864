// tensormap.replace, tensormap.cp_fenceproxy and fence.proxy.tensormap::generic: kernels that edit tensor
// maps.
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "gpu/ptx/async/async_ops.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/cluster.h"
#include "gpu/ptx/run/collective.h"
#include "gpu/ptx/run/findings.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/memory_checks.h"

namespace moe4::ptx {
namespace {

constexpr unsigned kPiece = 16, kPieces = kTensorMapBytes / kPiece;

// The 128 bytes that one lane's address leads to, in pieces as large as a store is.
class MapAccess {
 public:
  MapAccess(Warp& warp, const Instr& instr, const MemoryOp& op, unsigned lane, std::uint64_t address)
      : warp_(warp), instr_(instr), op_(op), lane_(lane), address_(address) {
    op_.element_bytes = kPiece;
    op_.count = 1;
  }

  // False: reported, and the block is over.
  bool load(TensorMapBytes* bytes) {
    for (unsigned i = 0; i < kPieces; ++i) {
      Target target;
      std::uint64_t addresses[kLanes];
      if (!find(i, false, addresses, &target)) return false;
      std::span<std::byte> to(bytes->data() + std::size_t{i} * kPiece, kPiece);
      if (target.buffer != nullptr) {
        if (target.buffer->writable()) note_global_read(warp_, instr_, op_, target, addresses);
        read_global(*warp_.block, *target.buffer, addresses[lane_] - target.origin, to);
      } else {
        if (warp_.block->checks()) note_shared_read(warp_, instr_, op_, target, addresses);
        std::memcpy(to.data(), target.at(addresses[lane_], lane_), kPiece);
      }
    }
    return true;
  }

  bool store(const TensorMapBytes& bytes) {
    for (unsigned i = 0; i < kPieces; ++i) {
      Target target;
      std::uint64_t addresses[kLanes];
      if (!find(i, true, addresses, &target)) return false;
      const std::byte* from = bytes.data() + std::size_t{i} * kPiece;
      if (Buffer* buffer = target.buffer; buffer != nullptr) {
        const std::uint64_t offset = addresses[lane_] - target.origin;
        if (!buffer->writable()) {
          warp_.block->report(Check::kInputWritten, warp_, instr_index(warp_, instr_), lane_,
                              "a tensor map in the read-only buffer '" + buffer->name + "' at offset " +
                                  std::to_string(offset));
          return true;
        }
        note_global_write(warp_, instr_, op_, target, addresses, false);
        warp_.block->run().memory->touch(*buffer, offset, kPiece);
        std::memset(buffer->written.data() + offset, 1, kPiece);
        std::memcpy(buffer->host + offset, from, kPiece);
      } else {
        if (warp_.block->checks()) note_shared_write(warp_, instr_, op_, target, addresses, false);
        std::memcpy(target.at(addresses[lane_], lane_), from, kPiece);
      }
    }
    return true;
  }

 private:
  bool find(unsigned piece, bool store, std::uint64_t* addresses, Target* target) {
    addresses[lane_] = address_ + std::uint64_t{piece} * kPiece;
    LaneMask left = LaneMask{1} << lane_;
    if (!next_target(warp_, instr_, op_, store, addresses, &left, target)) return false;
    if (target->space == Space::kShared || target->space == Space::kGlobal) return true;
    warp_.block->fault(Check::kInvalidOperand, warp_, instr_index(warp_, instr_), lane_,
                       "a tensor map to be written lies in global or shared memory");
    return false;
  }

  Warp& warp_;
  const Instr& instr_;
  MemoryOp op_;
  unsigned lane_;
  std::uint64_t address_;
};

// The ISA's numbers of element types.
std::optional<std::pair<MapElement, std::uint32_t>> element_numbered(std::uint64_t number) {
  constexpr std::pair<MapElement, std::uint32_t> kElements[] = {
      {MapElement::kU8, 1},  {MapElement::kU16, 2}, {MapElement::kU32, 4}, {MapElement::kS32, 4},
      {MapElement::kU64, 8}, {MapElement::kS64, 8}, {MapElement::kF16, 2}, {MapElement::kF32, 4},
      {MapElement::kF32, 4}, {MapElement::kF64, 8}, {MapElement::kBF16, 2}};
  if (number >= std::size(kElements)) return std::nullopt;
  return kElements[number];
}

// Empty: done; else why not.
std::string replace_field(TensorMap& map, MapField field, unsigned ordinal, std::uint64_t value) {
  const auto wrong = [&](const char* what) { return std::string(what) + " " + std::to_string(value); };
  const auto low = static_cast<std::uint32_t>(value);
  switch (field) {
    case MapField::kAddress:
      map.address = value;
      return {};
    case MapField::kRank:
      if (low > 4) return wrong("a rank less one of");
      map.rank = low + 1;
      return {};
    case MapField::kBox:
      map.box[ordinal] = low;
      return {};
    case MapField::kDim:
      map.dims[ordinal] = low == 0 ? std::uint64_t{1} << 32 : low;
      return {};
    case MapField::kStride:  // dimension 0 is dense
      if (ordinal == 4) return "a stride beyond dimension 4";
      map.strides[ordinal + 1] = value;
      return {};
    case MapField::kElementStride:
      return low == 1 ? std::string() : wrong("an element stride of");
    case MapField::kElement: {
      const auto element = element_numbered(value);
      if (!element) return wrong("the element type");
      map.element = element->first;
      map.element_bytes = element->second;
      map.strides[0] = element->second;
      return {};
    }
    case MapField::kInterleave:
      return low == 0 ? std::string() : wrong("the interleaved layout");
    case MapField::kSwizzle:
      if (low > 3) return wrong("the swizzle mode");
      map.swizzle = static_cast<Swizzle>(low);
      return {};
    case MapField::kFill:
      return low == 0 ? std::string() : wrong("the fill mode");
    case MapField::kAtomicity:
      return low == 0 ? std::string() : wrong("the swizzle atomicity");
  }
  return {};
}

}  // namespace

void run_map_replace(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto field = static_cast<MapField>(instr.imm & 0xff);
  const auto ordinal = static_cast<unsigned>(instr.imm >> 8) & 7;
  const bool wide = (instr.imm >> 16) & 1;
  const MemoryOp& op = warp.function->memory_ops[instr.aux];
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  if (warp.block->checks() && op.register_address) hash_addresses(warp, addresses, mask);
  for (LaneMask left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    MapAccess access(warp, instr, op, lane, addresses[lane]);
    TensorMapBytes bytes;
    if (!access.load(&bytes)) return;
    std::optional<TensorMap> map = unpack_tensor_map(bytes);
    const std::uint64_t value =
        wide ? lanes<std::uint64_t>(warp, instr.b)[lane] : lanes<std::uint32_t>(warp, instr.b)[lane];
    const std::string problem = map ? replace_field(*map, field, ordinal, value) : "there is no tensor map";
    if (!problem.empty()) {
      return warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr), lane,
                               "tensormap.replace at " + hex(addresses[lane]) + ": " + problem);
    }
    if (!access.store(encode(*map))) return;
  }
}

void run_map_copy(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!gather(warp, instr, mask, kAllLanes, true)) return;
  const MemoryOp* ops = warp.function->memory_ops.data() + instr.aux;
  std::uint64_t to[kLanes], from[kLanes];
  read_addresses(warp, instr, ops[0], to);
  Instr second = instr;
  second.a = instr.b;
  read_addresses(warp, second, ops[1], from);
  const unsigned lane = first_lane(mask);
  for_lanes(mask, [&](unsigned other) {
    if (to[other] == to[lane] && from[other] == from[lane]) return;
    warp.block->fault(Check::kInvalidOperand, warp, instr_index(warp, instr), other,
                      "the lanes of a warp name different tensor maps");
  });
  if (warp.stop == WarpStop::kEnd) return;
  // Any lane may be the one that copies: the first and the last stand for all.
  const auto last = static_cast<unsigned>(31 - std::countl_zero(mask));
  TensorMapBytes bytes;
  if (!MapAccess(warp, instr, ops[1], last, from[last]).load(&bytes)) return;
  if (!MapAccess(warp, instr, ops[1], lane, from[lane]).load(&bytes)) return;
  if (!MapAccess(warp, instr, ops[0], lane, to[lane]).store(bytes)) return;
  if (warp.block->checks()) warp.block->async().map_fences().release(*warp.block, warp.index);
}

void run_map_release(Warp& warp, const Instr&, LaneMask) {
  if (warp.block->checks()) warp.block->async().map_fences().release(*warp.block, warp.index);
}

void run_map_acquire(Warp& warp, const Instr& instr, LaneMask mask) {
  if (!warp.block->checks()) return;
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, warp.function->memory_ops[instr.aux], addresses);
  for_lanes(mask, [&](unsigned lane) {
    warp.block->async().map_fences().acquire(*warp.block, warp.index, lane, addresses[lane]);
  });
}

void MapFences::release(Block& block, unsigned warp) {
  WarpClocks& clocks = block.shared_races().clocks();
  released_[warp] = clocks.epoch(warp);
  if (block.run().sync != nullptr) block.run().sync->map_releases(block.linear())[warp] = released_[warp];
  clocks.advance(warp);
}

void MapFences::acquire(Block& block, unsigned warp, unsigned lane, std::uint64_t address) {
  const bool module = (address & ~(kWindowBytes - 1)) == kGlobalsWindow;
  const Buffer* buffer = module ? block.run().globals : block.run().memory->find(address, kTensorMapBytes);
  if (buffer == nullptr || !buffer->writable()) return;
  const std::uint32_t epoch = block.shared_races().clocks().epoch(warp);
  acquired_[{address, warp}] = {state_of(*buffer, address - buffer->address),
                                Who::make(epoch, false, warp, lane)};
}

std::uint64_t MapFences::state_of(const Buffer& buffer, std::uint64_t offset) {
  std::uint64_t state = 0;
  for_last_writes(buffer, offset, kTensorMapBytes, [&](std::uint64_t block, Who who, std::uint32_t instr) {
    for (const std::uint64_t word : {block, std::uint64_t{who.bits}, std::uint64_t{instr}}) {
      state = (state ^ word) * 0x9fb21c651e98df25u + 1;
    }
  });
  return state;
}

void MapFences::check_use(Block& block, Warp& warp, std::uint32_t instr, unsigned lane, const Buffer& buffer,
                          std::uint64_t offset) {
  struct Write {
    std::uint64_t block = 0;
    Who who;
    std::uint32_t instr = 0;
  };
  std::optional<Write> unreleased, any;
  for_last_writes(buffer, offset, kTensorMapBytes, [&](std::uint64_t by, Who who, std::uint32_t at) {
    any = Write{by, who, at};
    bool released = by == block.linear() && released_[who.warp()] >= who.epoch();
    if (Cluster* cluster = block.cluster(); !released && cluster != nullptr) {
      const auto rank = cluster->rank_of(by);
      released = rank && block.peer(*rank).async().map_fences().released_[who.warp()] >= who.epoch();
    }
    if (GlobalSync* sync = block.run().sync; !released && sync != nullptr) {
      released = sync->map_releases(by)[who.warp()] >= who.epoch();
    }
    if (!released) unreleased = any;
  });
  if (!any) return;
  const auto found = [&](const char* what, const Write& write) {
    Finding* finding =
        block.report(Check::kProxyFence, warp, instr, lane,
                     "TMA uses a tensor map in buffer '" + buffer.name + "' at offset " +
                         std::to_string(offset) + " that this launch has written, with no " + what);
    if (finding == nullptr) return;
    Place place = block.place(write.instr, write.who.warp(), write.who.lane());
    place.block = block_of(*block.run().launch, write.block);
    finding->other = std::move(place);
  };
  if (unreleased) return found("fence.proxy.tensormap::generic.release behind the write", *unreleased);
  const std::uint64_t state = state_of(buffer, offset);
  const WarpClocks& clocks = block.shared_races().clocks();
  for (const auto& [key, acquired] : acquired_) {
    if (key.first != buffer.address + offset || acquired.state != state) continue;
    if (key.second == warp.index || clocks.ordered(acquired.who, warp.index, lane)) return;
  }
  found("fence.proxy.tensormap::generic.acquire of it before the use", *any);
}

}  // namespace moe4::ptx
