// Moves between registers of different widths, and predicates.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "gpu/ptx/run/block.h"
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

void assign(Warp& warp, std::uint32_t predicate, LaneMask value, LaneMask mask) {
  LaneMask& d = warp.predicates[predicate];
  d = (d & ~mask) | (value & mask);
}

struct alignas(16) Wide {
  std::uint64_t low, high;
};

template <class T>
void pack(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto count = static_cast<unsigned>(instr.imm);
  T* d = lanes<T>(warp, instr.d);
  const std::uint32_t* list = warp.function->lists.data() + instr.aux;
  for (unsigned part = 0; part < count; ++part) {
    const T* from = lanes<T>(warp, list[part]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane) & 1) d[lane * count + part] = from[lane];
    }
  }
}

template <class T>
void unpack(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto count = static_cast<unsigned>(instr.imm);
  const T* a = lanes<T>(warp, instr.a);
  const std::uint32_t* list = warp.function->lists.data() + instr.aux;
  for (unsigned part = 0; part < count; ++part) {
    T* to = lanes<T>(warp, list[part]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane) & 1) to[lane] = a[lane * count + part];
    }
  }
}

void move_wide(Warp& warp, const Instr& instr, LaneMask mask) {
  Wide* d = lanes<Wide>(warp, instr.d);
  const Wide* a = lanes<Wide>(warp, instr.a);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane) & 1) d[lane] = a[lane];
  }
}

}  // namespace

void run_move_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  assign(warp, instr.d, warp.predicates[instr.a] ^ static_cast<LaneMask>(instr.imm), mask);
}
void run_and_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  assign(warp, instr.d, warp.predicates[instr.a] & warp.predicates[instr.b], mask);
}
void run_or_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  assign(warp, instr.d, warp.predicates[instr.a] | warp.predicates[instr.b], mask);
}
void run_xor_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  assign(warp, instr.d, warp.predicates[instr.a] ^ warp.predicates[instr.b], mask);
}
void run_not_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  assign(warp, instr.d, ~warp.predicates[instr.a], mask);
}
void run_select_predicate(Warp& warp, const Instr& instr, LaneMask mask) {
  const LaneMask c = warp.predicates[instr.c];
  assign(warp, instr.d, (warp.predicates[instr.a] & c) | (warp.predicates[instr.b] & ~c), mask);
}

Handler pack_handler(unsigned part_bytes) {
  switch (part_bytes) {
    case 1:
      return &pack<std::uint8_t>;
    case 2:
      return &pack<std::uint16_t>;
    case 4:
      return &pack<std::uint32_t>;
    case 8:
      return &pack<std::uint64_t>;
    default:
      return nullptr;
  }
}

Handler unpack_handler(unsigned part_bytes) {
  switch (part_bytes) {
    case 1:
      return &unpack<std::uint8_t>;
    case 2:
      return &unpack<std::uint16_t>;
    case 4:
      return &unpack<std::uint32_t>;
    case 8:
      return &unpack<std::uint64_t>;
    default:
      return nullptr;
  }
}

Handler move_wide_handler() { return &move_wide; }

void run_is_in_window(Warp& warp, const Instr& instr, LaneMask mask) {
  const std::uint64_t* a = lanes<std::uint64_t>(warp, instr.a);
  LaneMask inside = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t window = a[lane] & ~(kWindowBytes - 1);
    const bool other =
        window == kSharedWindow || window == kLocalWindow || window == kConstWindow || window == kParamWindow;
    // The window of the cluster holds those of its blocks.
    const std::uint64_t place = (a[lane] & (kWindowBytes - 1)) >> kRankShift;
    const bool own =
        window != kSharedWindow || (instr.imm & 1) != 0 || place == 0 || place - 1 == warp.block->rank();
    // Window 0 stands for global memory: whatever lies in no other window.
    if (instr.imm == 0 ? !other : window == (instr.imm & ~std::uint64_t{1}) && own)
      inside |= LaneMask{1} << lane;
  }
  assign(warp, instr.d, inside, mask);
}

Property property_named(std::string_view name) {
  if (name == "finite") return Property::kFinite;
  if (name == "infinite") return Property::kInfinite;
  if (name == "number") return Property::kNumber;
  if (name == "notanumber") return Property::kNotANumber;
  return name == "normal" ? Property::kNormal : Property::kSubnormal;
}

void run_test_property(Warp& warp, const Instr& instr, LaneMask mask) {
  const bool wide = (instr.imm >> 8) == 8;
  LaneMask holds = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int kind = wide ? std::fpclassify(lanes<double>(warp, instr.a)[lane])
                          : std::fpclassify(lanes<float>(warp, instr.a)[lane]);
    bool is = false;
    switch (static_cast<Property>(instr.imm & 0xff)) {
      case Property::kFinite:
        is = kind != FP_NAN && kind != FP_INFINITE;
        break;
      case Property::kInfinite:
        is = kind == FP_INFINITE;
        break;
      case Property::kNumber:
        is = kind != FP_NAN;
        break;
      case Property::kNotANumber:
        is = kind == FP_NAN;
        break;
      // Zero counts as normal.
      case Property::kNormal:
        is = kind == FP_NORMAL || kind == FP_ZERO;
        break;
      case Property::kSubnormal:
        is = kind == FP_SUBNORMAL;
        break;
    }
    if (is) holds |= LaneMask{1} << lane;
  }
  assign(warp, instr.d, holds, mask);
}

void run_division_check(Warp& warp, const Instr& instr, LaneMask mask) {
  const auto bytes = static_cast<unsigned>(instr.imm);
  const std::byte* a = lanes<std::byte>(warp, instr.a);
  LaneMask zero = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::uint64_t value = 0;
    std::memcpy(&value, a + std::size_t{lane} * bytes, bytes);
    if (value == 0) zero |= LaneMask{1} << lane;
  }
  zero &= mask;
  if (zero == 0) return;
  warp.block->report(Check::kInvalidOperand, warp, instr_index(warp, instr),
                     static_cast<unsigned>(std::countr_zero(zero)), "integer division by zero",
                     static_cast<std::uint64_t>(std::popcount(zero)));
}

}  // namespace moe4::ptx
