// atom and red: one lane after the other.
#include <bit>
#include <cmath>
#include <cstring>

#include "gpu/ptx/alu/narrow.h"
#include "gpu/ptx/run/access.h"
#include "gpu/ptx/run/global_races.h"
#include "gpu/ptx/run/handlers.h"
#include "gpu/ptx/run/memory_checks.h"
#include "gpu/ptx/run/soft_round.h"

namespace moe4::ptx {
namespace {

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

// FP32 addition flushes subnormal numbers in global memory and keeps them in shared memory.
std::uint64_t add_f32(std::uint64_t a, std::uint64_t b, bool ftz) {
  float x = std::bit_cast<float>(static_cast<std::uint32_t>(a)),
        y = std::bit_cast<float>(static_cast<std::uint32_t>(b));
  if (ftz) x = flush(x), y = flush(y);
  float r = x + y;
  if (ftz) r = flush(r);
  return r != r ? 0x7fffffffu : std::bit_cast<std::uint32_t>(r);
}

std::uint64_t add_f64(std::uint64_t a, std::uint64_t b) {
  const double r = std::bit_cast<double>(a) + std::bit_cast<double>(b);
  return r != r ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(r);
}

// The sum of two such numbers is exact in FP64 or differs by far more than a rounding in FP64 can hide.
std::uint16_t half_op(AtomicOp op, std::uint16_t a, std::uint16_t b, bool bf16) {
  const double x = bf16 ? bf16_value(a) : f16_value(a), y = bf16 ? bf16_value(b) : f16_value(b);
  if (op == AtomicOp::kAdd) {
    const double sum = x + y;
    if (sum != sum) return 0x7fff;
    const double error = std::fabs(x) > std::fabs(y) ? y - (sum - x) : x - (sum - y);
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (std::isfinite(sum) && error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1;
    return bf16 ? bf16_from_odd(std::bit_cast<double>(bits)) : f16_from_double(std::bit_cast<double>(bits));
  }
  if (x != x || y != y) return x != x && y != y ? 0x7fff : x != x ? b : a;
  const bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
  return (op == AtomicOp::kMin) == less ? a : b;
}

template <class T>
T sized(std::uint64_t bits) {
  return static_cast<T>(bits);
}

}  // namespace

bool atomic_type_fits(AtomicOp op, Type type) {
  const bool int32 = type == Type::kU32 || type == Type::kS32,
             int64 = type == Type::kU64 || type == Type::kS64;
  const bool half =
      type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2;
  switch (op) {
    case AtomicOp::kAdd:
      return int32 || int64 || half || type == Type::kF32 || type == Type::kF64;
    case AtomicOp::kMin:
    case AtomicOp::kMax:
      return int32 || int64 || half;
    case AtomicOp::kInc:
    case AtomicOp::kDec:
      return type == Type::kU32;
    case AtomicOp::kCas:
      return type == Type::kB16 || type == Type::kB32 || type == Type::kB64;
    case AtomicOp::kExch:
      return type == Type::kB32 || type == Type::kB64;
    case AtomicOp::kAnd:
    case AtomicOp::kOr:
    case AtomicOp::kXor:
      return type == Type::kB32 || type == Type::kB64;
  }
  return false;
}

std::uint64_t combine_atomic(AtomicOp op, Type type, Space space, std::uint64_t old, std::uint64_t b,
                             std::uint64_t c) {
  const bool s32 = type == Type::kS32, s64 = type == Type::kS64;
  switch (op) {
    case AtomicOp::kExch:
      return b;
    case AtomicOp::kCas:
      return old == b ? c : old;
    case AtomicOp::kAnd:
      return old & b;
    case AtomicOp::kOr:
      return old | b;
    case AtomicOp::kXor:
      return old ^ b;
    case AtomicOp::kInc:
      return old >= b ? 0 : old + 1;
    case AtomicOp::kDec:
      return old == 0 || old > b ? b : old - 1;
    default:
      break;
  }
  switch (type) {
    case Type::kF32:
      return add_f32(old, b, space == Space::kGlobal);
    case Type::kF64:
      return add_f64(old, b);
    case Type::kF16:
    case Type::kBF16:
      return half_op(op, sized<std::uint16_t>(old), sized<std::uint16_t>(b), type == Type::kBF16);
    case Type::kF16x2:
    case Type::kBF16x2: {
      const bool bf16 = type == Type::kBF16x2;
      const std::uint32_t low = half_op(op, sized<std::uint16_t>(old), sized<std::uint16_t>(b), bf16);
      const std::uint32_t high =
          half_op(op, sized<std::uint16_t>(old >> 16), sized<std::uint16_t>(b >> 16), bf16);
      return (high << 16) | low;
    }
    default:
      break;
  }
  if (op == AtomicOp::kAdd) return old + b;
  bool less = old < b;
  if (s32) less = sized<std::int32_t>(old) < sized<std::int32_t>(b);
  if (s64) less = sized<std::int64_t>(old) < sized<std::int64_t>(b);
  return (op == AtomicOp::kMin) == less ? old : b;
}

void run_atomic(Warp& warp, const Instr& instr, LaneMask mask) {
  const MemoryOp& op = warp.function->memory_ops[instr.aux];
  Block& block = *warp.block;
  const bool result = instr.imm & 1;
  std::uint64_t addresses[kLanes];
  read_addresses(warp, instr, op, addresses);
  if (block.checks() && op.register_address) hash_addresses(warp, addresses, mask);
  warp.polled = true;
  block.may_preempt(warp);
  const unsigned size = op.element_bytes, bytes = size * op.count;
  const std::uint32_t* list = warp.function->lists.data() + op.list;
  const std::uint32_t* operands = list + (result ? op.count : 0);
  const auto read = [&](std::uint32_t operand, unsigned lane) {
    std::uint64_t value = 0;
    std::memcpy(&value, lanes<std::byte>(warp, operand) + std::size_t{lane} * size, size);
    return value;
  };
  LaneMask left = mask;
  while (left != 0) {
    Target target;
    if (!next_target(warp, instr, op, true, addresses, &left, &target)) return;
    const std::uint64_t moved = std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(target.lanes));
    if (target.buffer != nullptr) {
      block.counters().global_load_bytes += moved;
      block.counters().global_store_bytes += moved;
      if (!target.buffer->writable()) {
        const unsigned lane = first_lane(target.lanes);
        block.report(Check::kInputWritten, warp, instr_index(warp, instr), lane,
                     "atomic operation on the read-only buffer '" + target.buffer->name + "' at offset " +
                         std::to_string(addresses[lane] - target.origin),
                     static_cast<std::uint64_t>(std::popcount(target.lanes)));
        continue;
      }
      note_global_write(warp, instr, op, target, addresses, true);
      for_lanes(target.lanes, [&](unsigned lane) {
        const std::uint64_t offset = addresses[lane] - target.origin;
        block.run().memory->touch(*target.buffer, offset, bytes);
        std::memset(target.buffer->written.data() + offset, 1, bytes);
      });
    } else if (target.space == Space::kShared) {
      block.counters().shared_load_bytes += moved;
      block.counters().shared_store_bytes += moved;
      if (block.checks()) note_shared_write(warp, instr, op, target, addresses, true);
    } else {
      return block.fault(Check::kInvalidOperand, warp, instr_index(warp, instr), first_lane(target.lanes),
                         "atomic operation on " + std::string(name_of(target.space)) + " memory");
    }
    if (block.checks()) {
      note_observed(warp, op, target, addresses);
      note_published(warp, op, target, addresses);
    }
    for_lanes(target.lanes, [&](unsigned lane) {
      for (unsigned i = 0; i < op.count; ++i) {
        std::byte* at = target.at(addresses[lane], lane) + std::size_t{i} * size;
        std::uint64_t old = 0;
        std::memcpy(&old, at, size);
        const std::uint64_t c = op.atomic == AtomicOp::kCas ? read(operands[op.count], lane) : 0;
        const std::uint64_t value =
            combine_atomic(op.atomic, op.type, target.space, old, read(operands[i], lane), c);
        std::memcpy(at, &value, size);
        if (result) std::memcpy(lanes<std::byte>(warp, list[i]) + std::size_t{lane} * size, &old, size);
      }
    });
  }
}

}  // namespace moe4::ptx
