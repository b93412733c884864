#include "tests/support/problems/generators.h"

#include <rapidcheck/Seq.h>
#include <rapidcheck/Shrinkable.h>
#include <rapidcheck/seq/Create.h>
#include <rapidcheck/shrinkable/Create.h>

#include "tests/support/problems/draw_bits.h"
#include "tests/support/problems/draw_layer.h"
#include "tests/support/problems/shrink_problem.h"
#include "tests/support/problems/stage_problem.h"

namespace problems {
namespace {

using slow_model::FloatTensor;
using slow_model::Problem;

FloatTensor draw_tensor(Draw& draw, std::int64_t count) {
  FloatTensor tensor;
  tensor.format = slow_model::kFloatFormats[draw.below(4)];
  tensor.bits = draw_floats(draw, tensor.format, draw_float_mood(draw), count);
  return tensor;
}

void draw_policy(Draw& draw, const Drawn& drawn, slow_model::Policy& policy) {
  using namespace slow_model;
  draw_scale_policies(draw, policy);
  policy.zero = draw.pick({ZeroCompare::kAny, ZeroCompare::kStrict});
  policy.ids = drawn.ids_absent ? draw.pick({Ids::kError, Ids::kAbsent}) : Ids::kError;
  policy.skip_zero_p = draw.pick({SkipZeroP::kNo, SkipZeroP::kYes});
}

void draw_shape(Draw& draw, const Drawn& drawn, Problem& problem) {
  const bool empty = drawn.empty && draw.one_in(12);
  problem.tokens = draw.between(empty ? 0 : 1, 3);
  problem.experts = draw.between(1, 4);
  problem.groups = draw.between(1, 3);
  problem.out = draw.between(empty ? 0 : 1, 3);
  problem.top_k = draw.between(drawn.empty && draw.one_in(8) ? 0 : 1, 4);
}

void draw_ids(Draw& draw, Problem& problem) {
  const bool duplicates = draw.one_in(4);
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    const std::int64_t favourite = draw.between(0, problem.experts - 1);
    for (std::int64_t slot = 0; slot < problem.top_k; ++slot) {
      std::int64_t id = duplicates ? favourite : draw.between(0, problem.experts - 1);
      if (problem.policy.ids == slow_model::Ids::kAbsent && draw.one_in(3)) {
        id = -1;
      }
      problem.selected_experts.push_back(id);
    }
  }
}

void plant_zero_p(Draw& draw, FloatTensor& mixture_weights) {
  for (std::uint64_t& p : mixture_weights.bits) {
    if (draw.one_in(2)) {
      p = draw.one_in(2) ? mixture_weights.format.sign_bit() : 0;
    }
  }
}

Problem draw_problem(Draw& draw, const Drawn& drawn) {
  Problem problem;
  problem.weights = drawn.weights;
  draw_policy(draw, drawn, problem.policy);
  draw_shape(draw, drawn, problem);
  const bool non_finite = drawn.non_finite && draw.one_in(4);
  problem.latent_tokens = draw_tensor(draw, problem.tokens * problem.in());
  draw_weights(draw, problem, non_finite);
  problem.wide_ids = draw.one_in(2);
  draw_ids(draw, problem);
  problem.mixture_weights = draw_tensor(draw, problem.tokens * problem.top_k);
  problem.shared_output = draw_tensor(draw, problem.tokens * problem.out);

  if (draw.one_in(4)) plant_large_pair(draw, problem.output_format(), problem.latent_tokens.bits, problem);
  if (draw.one_in(6)) cancel_dots(draw, problem);
  if (draw.one_in(6)) cancel_slots(draw, problem);
  if (draw.one_in(8)) plant_zero_p(draw, problem.mixture_weights);
  if (draw.one_in(10)) {
    plant_ties(draw, problem);
    return problem;
  }
  if (draw.one_in(2)) aim_shared(draw, problem);
  if (non_finite && draw.one_in(4)) plant_infinite_p(draw, problem);
  if (non_finite && draw.one_in(3)) {
    plant_nan_scale(draw, problem);
    return problem;
  }
  if (non_finite) plant_non_finite(draw, problem);
  return problem;
}

// Problems that draw_one draws, shrunk by the overload of shrinks() for them.
template <class DrawOne>
auto generator(const DrawOne& draw_one) {
  using One = decltype(draw_one(std::declval<Draw&>()));
  return rc::Gen<One>([draw_one](const rc::Random& random, int) {
    Draw draw(random);
    One problem = draw_one(draw);
    problem.seed = draw.bits();
    return rc::shrinkable::shrinkRecur(
        problem, [](const One& larger) { return rc::seq::fromContainer(shrinks(larger)); });
  });
}

}  // namespace

rc::Gen<Problem> any_problem(const Drawn& drawn) {
  return generator([drawn](Draw& draw) { return draw_problem(draw, drawn); });
}

rc::Gen<slow_model::RowsProblem> any_rows(slow_model::RowsOp op, slow_model::WeightFormat weights) {
  return generator([op, weights](Draw& draw) { return draw_rows(draw, op, weights); });
}

rc::Gen<slow_model::CombineProblem> any_combine() {
  return generator([](Draw& draw) { return draw_combine(draw); });
}

}  // namespace problems
