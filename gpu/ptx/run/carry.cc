// add.cc, addc, sub.cc, subc, mad.cc, madc: arithmetic with the carry flag of each lane.
#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

template <class U>
struct WideOf;
template <>
struct WideOf<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct WideOf<std::uint64_t> {
  using type = unsigned __int128;
};
template <class U>
using Wide = typename WideOf<U>::type;

// The product part of mad; signed only where the high half is wanted.
template <class U, bool kHigh, bool kSigned>
U product(U a, U b) {
  constexpr unsigned kBits = sizeof(U) * 8;
  const Wide<U> whole = Wide<U>(a) * b;
  if (!kHigh) return static_cast<U>(whole);
  U high = static_cast<U>(whole >> kBits);
  if (kSigned) {
    if (a >> (kBits - 1)) high -= b;
    if (b >> (kBits - 1)) high -= a;
  }
  return high;
}

template <class U, CarryOp kOp, bool kSigned>
void run_carry(Warp& warp, const Instr& instr, LaneMask mask) {
  constexpr bool kMad = kOp == CarryOp::kMadLo || kOp == CarryOp::kMadHi;
  const bool in = instr.imm & 1, out = instr.imm & 2;
  U* d = lanes<U>(warp, instr.d);
  const U* a = lanes<U>(warp, instr.a);
  const U* b = lanes<U>(warp, instr.b);
  const U* c = kMad ? lanes<U>(warp, instr.c) : nullptr;
  LaneMask carry = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    const unsigned carried = in ? (warp.carry >> lane) & 1 : 0;
    Wide<U> sum;
    if constexpr (kOp == CarryOp::kSub) {
      // The flag is the borrow.
      sum = Wide<U>(a[lane]) - b[lane] - carried;
    } else if constexpr (kOp == CarryOp::kAdd) {
      sum = Wide<U>(a[lane]) + b[lane] + carried;
    } else {
      sum = Wide<U>(product<U, kOp == CarryOp::kMadHi, kSigned>(a[lane], b[lane])) + c[lane] + carried;
    }
    d[lane] = static_cast<U>(sum);
    if ((sum >> (sizeof(U) * 8)) & 1) carry |= LaneMask{1} << lane;
  }
  if (out) warp.carry = (warp.carry & ~mask) | carry;
}

template <class U, bool kSigned>
Handler carry_handler_of(CarryOp op) {
  switch (op) {
    case CarryOp::kAdd:
      return &run_carry<U, CarryOp::kAdd, kSigned>;
    case CarryOp::kSub:
      return &run_carry<U, CarryOp::kSub, kSigned>;
    case CarryOp::kMadLo:
      return &run_carry<U, CarryOp::kMadLo, kSigned>;
    case CarryOp::kMadHi:
      return &run_carry<U, CarryOp::kMadHi, kSigned>;
  }
  return nullptr;
}

}  // namespace

Handler carry_handler(CarryOp op, Type type) {
  switch (type) {
    case Type::kU32:
    case Type::kB32:
      return carry_handler_of<std::uint32_t, false>(op);
    case Type::kS32:
      return carry_handler_of<std::uint32_t, true>(op);
    case Type::kU64:
    case Type::kB64:
      return carry_handler_of<std::uint64_t, false>(op);
    case Type::kS64:
      return carry_handler_of<std::uint64_t, true>(op);
    default:
      return nullptr;
  }
}

}  // namespace moe4::ptx
