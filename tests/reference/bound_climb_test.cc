// A hill-climb over data for an error above its bound, for every accumulation in several orders. It prints
// how close it came: a largest ratio over 1 is a wrong theorem, one near 0 a loose one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "reference/bound/dot_bound.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/declared_kernel.h"

namespace moe4::test {
namespace {

// One row of INT4 weights and one token, both BF16, or the token F16.
struct Dot {
  Tensor words, scales, token;
  std::int64_t in;

  Dot(std::int64_t width, Dtype dtype, Random& random, bool positive)
      : words(Dtype::kI32, {1, 1, width / 8}),
        scales(Dtype::kBF16, {1, 1, width / 32}),
        token(dtype, {1, width}),
        in(width) {
    for (std::int32_t& word : words.as<std::int32_t>()) {
      word = static_cast<std::int32_t>(random.below(std::uint64_t{1} << 32) | (positive ? 0x88888888U : 0U));
    }
    for (std::uint16_t& scale : scales.as<std::uint16_t>()) {
      scale = static_cast<std::uint16_t>(0x3C00 + random.below(256));
    }
    for (std::int64_t i = 0; i < in; ++i) put(token, i, positive ? 1 + random.unit() : random.gauss());
  }

  void mutate(Random& random) {
    const std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t k = 0; k < changes; ++k) {
      const auto i = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(in)));
      std::uint16_t& x = token.as<std::uint16_t>()[i];
      const bool half = token.dtype() == Dtype::kF16;
      switch (random.below(6)) {
        case 0:
          x = static_cast<std::uint16_t>(x ^ (1U << random.below(half ? 10 : 7)));
          break;
        case 1:
          x = static_cast<std::uint16_t>(x ^ 0x8000U);
          break;
        case 2:
          put(token, static_cast<std::int64_t>(i),
              std::ldexp(random.gauss(), static_cast<int>(random.between(-12, 8))));
          break;
        case 3:
          std::swap(x, token.as<std::uint16_t>()[random.below(static_cast<std::uint64_t>(in))]);
          break;
        case 4: {
          std::int32_t& word = words.as<std::int32_t>()[i / 8];
          word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) ^ (1U << random.below(32)));
          break;
        }
        default: {
          std::uint16_t& scale = scales.as<std::uint16_t>()[i / 32];
          scale = static_cast<std::uint16_t>(scale ^ (1U << random.below(9)));
          break;
        }
      }
    }
  }
};

class Climber {
 public:
  Climber(const Arithmetic& arithmetic, std::int64_t in, Dtype dtype)
      : arithmetic_(arithmetic),
        dtype_(dtype),
        plan_(plan_chains(arithmetic.order, in), arithmetic.dequant == Int4Order::kAccumulatorScale),
        format_(accumulation_format(dtype, arithmetic)),
        bounder_(plan_, format_, arithmetic, dtype),
        simulation_({arithmetic}, in, dtype) {}

  // |error| / bound, on the side where the error is.
  double ratio(const Dot& dot) {
    const ExpertWeights expert = ExpertWeights::int4(dot.words.view(), dot.scales.view());
    WeightTables weights(expert, {}, arithmetic_, dtype_);
    RowBlock rows(plan_, arithmetic_.dequant == Int4Order::kAccumulatorScale);
    rows.decode(weights, 0, 0, 1);
    std::vector<ExactValue> x;
    std::vector<float> floats;
    const Elements<2> elements(dot.token.view());
    for (std::int64_t i = 0; i < dot.in; ++i) {
      x.push_back(elements.value({0, i}));
      floats.push_back(static_cast<float>(DeclaredSimulation::to_number(x.back())));
    }
    const DotBound bound = bounder_(rows, TokenOperand(plan_, x))[0];
    if (bound.overflow || bound.slack > 0) return 0;
    simulation_.load_weights(weights, 0, 0);
    simulation_.load_token(floats);
    const auto held = static_cast<double>(simulation_.dot());
    const double error = held - bound.value;
    if (error == 0) return 0;
    return error < 0 ? -error / bound.below : error / bound.above;
  }

 private:
  Arithmetic arithmetic_;
  Dtype dtype_;
  FlatPlan plan_;
  AccumulationFormat format_;
  DotBounder bounder_;
  DeclaredSimulation simulation_;
};

// MOE4_CLIMB_STEPS: how many steps for each of the cases.
std::int64_t steps() {
  const char* text = std::getenv("MOE4_CLIMB_STEPS");
  return text != nullptr ? std::atoll(text) : 150;
}

TEST(BoundClimb, NoErrorIsAboveItsBound) {
  constexpr std::int64_t kIn = 128;
  double largest = 0;
  for (const char* accumulation :
       {"f32_sequential", "volta", "turing", "ampere", "ada", "hopper", "blackwell"}) {
    for (const char* order : {"seq", "warps(64,2)+tree", "lanes(32,4)+shfl", "split(2)*groups(16)", "any"}) {
      double best_of_all = 0;
      for (const bool positive : {false, true}) {
        Random random(41 + (positive ? 1 : 0));
        Arithmetic arithmetic;
        arithmetic.order = parse_order(order).value();
        arithmetic.accumulation = parse_accumulation(accumulation).value();
        const TensorCore* unit = arithmetic.accumulation.unit;
        const Dtype dtype = unit == nullptr || multiplies(*unit, Dtype::kBF16) ? Dtype::kBF16 : Dtype::kF16;
        Climber climber(arithmetic, kIn, dtype);
        Dot dot(kIn, dtype, random, positive);
        double best = climber.ratio(dot);
        for (std::int64_t step = 0; step < steps(); ++step) {
          Dot next = dot;
          next.mutate(random);
          const double ratio = climber.ratio(next);
          EXPECT_LE(ratio, 1.0) << accumulation << " " << order << " step " << step;
          if (ratio < best) continue;
          best = ratio;
          dot = std::move(next);
        }
        best_of_all = std::max(best_of_all, best);
      }
      std::cout << accumulation << " " << order << ": largest |error| / bound " << best_of_all << "\n";
      largest = std::max(largest, best_of_all);
    }
  }
  EXPECT_GT(largest, 0.3);
}

}  // namespace
}  // namespace moe4::test
