// Handlers of the arithmetic instructions. They exist once for each host instruction set that is compiled in;
// the set is chosen at run time, and every set gives the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/ptx/program/program.h"

namespace moe4::ptx {

enum class IntOp : std::uint8_t {
  // unary
  kMove,
  kNot,
  kCnot,
  kNeg,
  kAbs,
  kPopc,
  kClz,
  kBrev,
  kBfind,
  kBfindShift,
  // binary
  kAdd,
  kSub,
  kMulLo,
  kMulHi,
  kMulWide,
  kDiv,
  kRem,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,
  kAddSat,
  kSubSat,
  kMul24,
  kMulHi24,
  // ternary
  kMadLo,
  kMadHi,
  kMadWide,
  kSad,
  kBfe,
  kBfi,
  kShfLeftClamp,
  kShfLeftWrap,
  kShfRightClamp,
  kShfRightWrap,
  kLop3,
  kPrmt,
  kDp4aUU,
  kDp4aUS,
  kDp4aSU,
  kDp4aSS,
  kDp2aUU,
  kDp2aUS,
  kDp2aSU,
  kDp2aSS,
  kMadHiSat,
  kMad24,
  kBmskClamp,
  kBmskWrap,
  kSzextClamp,
  kSzextWrap,
  // 16-bit pairs
  kAdd2,
  kMin2,
  kMax2,
};

enum class FloatOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kFma,
  kDiv,
  kMin,
  kMax,
  kMinNan,
  kMaxNan,
  kNeg,
  kAbs,
  kRcp,
  kSqrt,
  kRsqrt,
  kCopysign,
};

enum class Rounding : std::uint8_t { kNone, kNearest, kZero, kDown, kUp, kNearestAway };

struct FloatMode {
  Rounding rounding = Rounding::kNearest;
  bool ftz = false, sat = false, relu = false;
};

// The modes as imm of a half handler.
inline constexpr std::uint64_t kModeFtz = 1, kModeSat = 2, kModeRelu = 4;
inline std::uint64_t encode(FloatMode mode) {
  return (mode.ftz ? kModeFtz : 0) | (mode.sat ? kModeSat : 0) | (mode.relu ? kModeRelu : 0);
}

enum class Compare : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};
enum class PredicateOp : std::uint8_t { kNone, kAnd, kOr, kXor };

struct Alu {
  std::string_view name;  // "baseline", "avx2", "avx512"
  // nullptr: no such instruction. Operands as d, a, b, c (kBfi: and e); constants of the operation in imm.
  Handler (*integer)(IntOp, Type);
  Handler (*floating)(FloatOp, Type, FloatMode);      // f32 and f64, round to nearest
  Handler (*half)(FloatOp, Type, FloatMode);          // f16, bf16 and their pairs; imm: encode(mode)
  Handler (*set_predicate)(Compare, Type, bool ftz);  // d|e = a cmp b, imm: PredicateTail, c: predicate
  Handler (*select)(unsigned bytes);                  // d = c ? a : b
  Handler (*convert)(Type to, Type from);  // the conversions without a mode, and RNE to f32, f16, bf16
};

// imm of set_predicate.
struct PredicateTail {
  PredicateOp op = PredicateOp::kNone;
  bool negated = false;  // of c
};
inline std::uint64_t encode(PredicateTail tail) {
  return static_cast<std::uint64_t>(tail.op) | (tail.negated ? 16u : 0u);
}

// The instruction sets that this host can run, best first; never empty.
std::vector<const Alu*> host_alus();

// The one that modules are decoded for from now on: the best, unless another one was chosen (by a test that
// compares them).
const Alu& host_alu();
void use_host_alu(const Alu& alu);

}  // namespace moe4::ptx
