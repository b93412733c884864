// ex2, lg2, sin, cos, tanh, div: the ISA gives an error bound and no bits (docs/executor.md); here the
// function in FP64, rounded once.
#include <bit>
#include <cmath>
#include <limits>

#include "gpu/ptx/run/handlers.h"

namespace moe4::ptx {
namespace {

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

template <Approximate kOp>
void run_approximate(Warp& warp, const Instr& instr, LaneMask mask) {
  const bool ftz = instr.imm & kModeFtz;
  const float* a = lanes<float>(warp, instr.a);
  float* d = lanes<float>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    const double x = ftz ? flush(a[lane]) : a[lane];
    double y = 0;
    if (kOp == Approximate::kEx2) y = std::exp2(x);
    if (kOp == Approximate::kLg2) y = std::log2(x);
    if (kOp == Approximate::kSin) y = std::sin(x);
    if (kOp == Approximate::kCos) y = std::cos(x);
    if (kOp == Approximate::kTanh) y = std::tanh(x);
    const float r = static_cast<float>(y);
    d[lane] = r != r ? std::bit_cast<float>(0x7fffffffu) : ftz ? flush(r) : r;
  }
}

// div.approx: by |b| between 2^126 and infinity it gives zero, whatever the quotient; NaN for an infinite a.
void run_divide_approx(Warp& warp, const Instr& instr, LaneMask mask) {
  const bool ftz = instr.imm & kModeFtz;
  const float *a = lanes<float>(warp, instr.a), *b = lanes<float>(warp, instr.b);
  float* d = lanes<float>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    const float x = ftz ? flush(a[lane]) : a[lane], y = ftz ? flush(b[lane]) : b[lane];
    float r = x / y;
    if (std::isfinite(y) && std::fabs(y) > 0x1p126f && x == x) {
      r = std::isinf(x) ? std::numeric_limits<float>::quiet_NaN()
                        : std::copysign(0.0f, std::signbit(x) == std::signbit(y) ? 1.0f : -1.0f);
    }
    d[lane] = r != r ? std::bit_cast<float>(0x7fffffffu) : ftz ? flush(r) : r;
  }
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 see and give the upper 32 bits of an FP64 number.
template <Approximate kOp>
void run_upper_half(Warp& warp, const Instr& instr, LaneMask mask) {
  constexpr std::uint64_t kUpper = 0xffffffff00000000u;
  const double* a = lanes<double>(warp, instr.a);
  double* d = lanes<double>(warp, instr.d);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!((mask >> lane) & 1)) continue;
    double x = std::bit_cast<double>(std::bit_cast<std::uint64_t>(a[lane]) & kUpper);
    if (std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(0.0, x);
    const double y = kOp == Approximate::kRcp64 ? 1.0 / x : 1.0 / std::sqrt(x);
    std::uint64_t bits = std::bit_cast<std::uint64_t>(y);
    if (y != y) bits = 0x7fffffff00000000u;
    if (std::fpclassify(y) == FP_SUBNORMAL) bits &= std::uint64_t{1} << 63;
    d[lane] = std::bit_cast<double>(bits & kUpper);
  }
}

}  // namespace

Handler approximate_handler(Approximate op, Type type) {
  if (type == Type::kF64) {
    if (op == Approximate::kRcp64) return &run_upper_half<Approximate::kRcp64>;
    return op == Approximate::kRsqrt64 ? &run_upper_half<Approximate::kRsqrt64> : nullptr;
  }
  if (type != Type::kF32) return nullptr;
  switch (op) {
    case Approximate::kEx2:
      return &run_approximate<Approximate::kEx2>;
    case Approximate::kLg2:
      return &run_approximate<Approximate::kLg2>;
    case Approximate::kSin:
      return &run_approximate<Approximate::kSin>;
    case Approximate::kCos:
      return &run_approximate<Approximate::kCos>;
    case Approximate::kDiv:
      return &run_divide_approx;
    case Approximate::kRcp64:
    case Approximate::kRsqrt64:
      return nullptr;
    case Approximate::kTanh:
      return &run_approximate<Approximate::kTanh>;
  }
  return nullptr;
}

}  // namespace moe4::ptx
