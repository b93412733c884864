// ex2, lg2, sin, cos, tanh: the ISA gives an error bound and no bits; here the function in FP64, rounded
// once.
#include <bit>
#include <cmath>

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

}  // namespace

Handler approximate_handler(Approximate op, Type type) {
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
    case Approximate::kTanh:
      return &run_approximate<Approximate::kTanh>;
  }
  return nullptr;
}

}  // namespace moe4::ptx
