#include "tests/differential/draw_arithmetic.h"

namespace differential {

using problems::Draw;
using namespace slow_model;

SumOrder draw_order(Draw& draw) {
  using Chains = SumOrder::Chains;
  using Slices = SumOrder::Slices;
  SumOrder order;
  order.slices = draw.pick({Slices::kNone, Slices::kNone, Slices::kSplit, Slices::kStreamK});
  order.n = order.slices == Slices::kNone ? 0 : draw.pick<std::int64_t>({1, 2, 2, 3, 3, 4, 7});
  order.chains = draw.pick({Chains::kAny, Chains::kSeq, Chains::kGroups, Chains::kLanesShfl,
                            Chains::kLanesSeq, Chains::kWarpsTree});
  if (order.chains == Chains::kAny && order.slices != Slices::kNone) order.chains = Chains::kSeq;
  switch (order.chains) {
    case Chains::kAny:
    case Chains::kSeq:
      break;
    case Chains::kGroups:
      order.a = draw.pick<std::int64_t>({1, 3, 5, 16, 32, 64, 100});
      break;
    case Chains::kLanesShfl:
      order.a = draw.pick<std::int64_t>({1, 2, 4, 8, 32, 64});
      order.b = draw.pick<std::int64_t>({1, 2, 3, 8, 32});
      break;
    case Chains::kLanesSeq:
      order.a = draw.pick<std::int64_t>({1, 3, 6, 32, 33});
      order.b = draw.pick<std::int64_t>({1, 2, 3, 8, 32});
      break;
    case Chains::kWarpsTree:
      order.a = draw.pick<std::int64_t>({1, 5, 16, 32, 64});
      order.b = draw.pick<std::int64_t>({1, 2, 4, 8});
      break;
  }
  return order;
}

DeclaredArithmetic draw_arithmetic(Draw& draw) {
  using Accumulation = DeclaredArithmetic::Accumulation;
  DeclaredArithmetic arithmetic;
  arithmetic.profile =
      draw.pick({Profile::kOnce, Profile::kLate, Profile::kLateBf16Sum, Profile::kHf, Profile::kEarly});
  arithmetic.order = draw_order(draw);
  arithmetic.accumulation =
      draw.pick({Accumulation::kExact, Accumulation::kF32Sequential, Accumulation::kF32Sequential,
                 Accumulation::kTensorCore, Accumulation::kTensorCore});
  arithmetic.generation = draw.below(generations().size());
  arithmetic.products_rounded = draw.one_in(3);
  arithmetic.ftz = draw.one_in(3);
  arithmetic.weight_bf16 = draw.one_in(3);
  if (draw.one_in(2)) arithmetic.dequant = named_int4_orders()[draw.below(named_int4_orders().size())].order;
  return arithmetic;
}

DeclaredArithmetic allowed(DeclaredArithmetic a, const Layer& layer, const FloatFormat& tokens) {
  using Accumulation = DeclaredArithmetic::Accumulation;
  if (layer.weights == WeightFormat::kInt4) {
    a.weight_bf16 = false;
  } else {
    a.dequant = Int4Order::kNorm;
  }
  if (a.accumulation == Accumulation::kTensorCore) {
    if (!(tokens == kBf16 || tokens == kF16)) a.accumulation = Accumulation::kF32Sequential;
    if (tokens == kBf16 && !generations()[a.generation].takes_bf16) a.generation = 4;
    if (tokens == kF16) a.weight_bf16 = false;
    if (a.dequant == Int4Order::kExactW) a.dequant = Int4Order::kAccumulatorScale;
  }
  if (a.accumulation == Accumulation::kTensorCore) a.products_rounded = false;
  if (a.accumulation == Accumulation::kExact) a.products_rounded = a.ftz = false;
  if (a.order.slices == SumOrder::Slices::kStreamK) {
    if (!(tokens == kBf16)) a.order.slices = SumOrder::Slices::kSplit;
    if (tokens == kBf16 && a.order.n > 3) a.order.n = 3;
  }
  return a;
}

DeclaredArithmetic allowed_for_combine(DeclaredArithmetic a) {
  if (a.accumulation == DeclaredArithmetic::Accumulation::kExact) a.products_rounded = a.ftz = false;
  if (a.profile == Profile::kEarly) a.profile = Profile::kHf;
  return a;
}

}  // namespace differential
