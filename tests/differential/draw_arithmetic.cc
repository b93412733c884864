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

}  // namespace differential
