// FP32 and FP64 arithmetic rounded towards zero, down or up, by the host's rounding mode.
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

class RoundingScope {
 public:
  explicit RoundingScope(Rounding rounding) : before_(std::fegetround()) {
    std::fesetround(rounding == Rounding::kZero   ? FE_TOWARDZERO
                    : rounding == Rounding::kDown ? FE_DOWNWARD
                                                  : FE_UPWARD);
  }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int before_;
};

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
T flush(T x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(T(0), x) : x;
}

template <class T>
T finished(T r, std::uint64_t modes) {
  if (r != r) {
    if (modes & kModeSat) return T(0);
    return std::bit_cast<T>(sizeof(T) == 4 ? static_cast<BitsOf<T>>(0x7fffffffu)
                                           : static_cast<BitsOf<T>>(0x7ff8000000000000u));
  }
  if (modes & kModeFtz) r = flush(r);
  if (modes & kModeSat) r = r > T(0) ? (r < T(1) ? r : T(1)) : T(0);
  return r;
}

// The operands and the result go through volatile objects, so that no operation is moved out of the scope of
// the rounding mode or done by the compiler.
template <class T, FloatOp kOp, Rounding kRounding>
__attribute__((noinline)) void run_directed(Warp& warp, const Instr& instr, LaneMask mask) {
  const bool ftz = instr.imm & kModeFtz;
  T result[kLanes];
  {
    const RoundingScope scope(kRounding);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!((mask >> lane) & 1)) continue;
      const auto operand = [&](std::uint32_t field) {
        const T x = lanes<T>(warp, field)[lane];
        return ftz ? flush(x) : x;
      };
      volatile T a = operand(instr.a);
      volatile T r;
      if constexpr (kOp == FloatOp::kRcp) {
        r = T(1) / a;
      } else if constexpr (kOp == FloatOp::kSqrt) {
        r = std::sqrt(a);
      } else {
        volatile T b = operand(instr.b);
        if constexpr (kOp == FloatOp::kAdd) r = a + b;
        if constexpr (kOp == FloatOp::kSub) r = a - b;
        if constexpr (kOp == FloatOp::kMul) r = a * b;
        if constexpr (kOp == FloatOp::kDiv) r = a / b;
        if constexpr (kOp == FloatOp::kFma) {
          volatile T c = operand(instr.c);
          r = std::fma(a, b, c);
        }
      }
      result[lane] = r;
    }
  }
  T* d = lanes<T>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane) & 1) d[lane] = finished(result[lane], instr.imm);
  }
}

template <class T, FloatOp kOp>
Handler by_rounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return &run_directed<T, kOp, Rounding::kZero>;
    case Rounding::kDown:
      return &run_directed<T, kOp, Rounding::kDown>;
    case Rounding::kUp:
      return &run_directed<T, kOp, Rounding::kUp>;
    default:
      return nullptr;
  }
}

template <class T>
Handler by_op(FloatOp op, Rounding rounding) {
  switch (op) {
    case FloatOp::kAdd:
      return by_rounding<T, FloatOp::kAdd>(rounding);
    case FloatOp::kSub:
      return by_rounding<T, FloatOp::kSub>(rounding);
    case FloatOp::kMul:
      return by_rounding<T, FloatOp::kMul>(rounding);
    case FloatOp::kFma:
      return by_rounding<T, FloatOp::kFma>(rounding);
    case FloatOp::kDiv:
      return by_rounding<T, FloatOp::kDiv>(rounding);
    case FloatOp::kRcp:
      return by_rounding<T, FloatOp::kRcp>(rounding);
    case FloatOp::kSqrt:
      return by_rounding<T, FloatOp::kSqrt>(rounding);
    default:
      return nullptr;
  }
}

}  // namespace

Handler directed_handler(FloatOp op, Type type, Rounding rounding) {
  if (type == Type::kF32) return by_op<float>(op, rounding);
  if (type == Type::kF64) return by_op<double>(op, rounding);
  return nullptr;
}

}  // namespace moe4::ptx
