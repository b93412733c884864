// The drawn properties of declared_test.cc can fail: each wrong model is told from the reference with as many
// problems as they have.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/differential/declared_property.h"
#include "tests/differential/draw_arithmetic.h"

namespace differential {
namespace {

using namespace slow_model;
using Accumulation = DeclaredArithmetic::Accumulation;

// Where a wrong model must be told.
enum Where : unsigned { kLinear = 1, kRows = 2, kCombine = 4 };

struct DeclaredMutant {
  std::string name;
  unsigned where;
  WeightFormat weights;
  DeclaredModel model;
};

// A word of the declaration overlooked: the slow model of another arithmetic.
template <class Edit>
DeclaredModel overlooks(const Edit& edit) {
  return [edit](const DeclaredArithmetic& declared) {
    DeclaredArithmetic other = declared;
    edit(other);
    return declared_model(other);
  };
}

template <class Model>
DeclaredModel model_of() {
  return [](const DeclaredArithmetic& declared) -> std::shared_ptr<const Declared> {
    return std::make_shared<Model>(declared);
  };
}

struct OperandsKept : Declared {  // ftz of results only
  using Declared::Declared;
  Ieee operand(const FloatFormat&, const Ieee& v) const override { return v; }
};

struct ResultsKept : Declared {  // ftz of operands only
  using Declared::Declared;
  Ieee accumulated(const FloatFormat& accumulator, const Ieee& v) const override {
    return exact() ? Declared::accumulated(accumulator, v) : rounded(accumulator, v);
  }
};

struct AccumulatesInF64 : Declared {
  using Declared::Declared;
  Ieee accumulated(const FloatFormat&, const Ieee& v) const override {
    return Declared::accumulated(kF64, v);
  }
};

struct WeightsInBf16 : Declared {  // whatever is declared
  using Declared::Declared;
  Ieee weight(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i,
              Ieee& factor) const override {
    return rounded(kBf16, Declared::weight(layer, expert, o, i, factor));
  }
};

struct ChainsInReverse : Declared {
  using Declared::Declared;
  Ieee run(const Dot& dot, const std::vector<std::int64_t>& indices) const override {
    return Declared::run(dot, {indices.rbegin(), indices.rend()});
  }
};

struct JoinsInReverse : Declared {
  using Declared::Declared;
  Ieee slice(const Dot& dot, const Accumulators& accumulators) const override {
    Accumulators other = accumulators;
    const bool all_into_the_first =
        std::all_of(other.joins.begin(), other.joins.end(), [](const auto& join) { return join.first == 0; });
    if (all_into_the_first) std::reverse(other.joins.begin(), other.joins.end());
    return Declared::slice(dot, other);
  }
};

struct StreamAscending : Declared {
  using Declared::Declared;
  Ieee streamed(const std::vector<Ieee>& slices) const override {
    return Declared::streamed({slices.rbegin(), slices.rend()});
  }
};

struct StreamInF32 : Declared {  // partials kept, one rounding at the end
  using Declared::Declared;
  Ieee streamed(const std::vector<Ieee>& slices) const override {
    Ieee out = slices.back();
    for (std::size_t before = slices.size() - 1; before > 0; --before) {
      out = rounded(kF32, slices[before - 1] + out);
    }
    return rounded(kBf16, out);
  }
};

struct SliceKeptInF32 : Declared {  // one slice is not rounded: shows where d is multiplied by p
  using Declared::Declared;
  Ieee streamed(const std::vector<Ieee>& slices) const override {
    return slices.size() == 1 ? slices.front() : Declared::streamed(slices);
  }
};

struct SplitJoinedFromTheLast : Declared {
  using Declared::Declared;
  Ieee joined(const Dot& dot, const std::vector<Ieee>& slices) const override {
    if (arithmetic().order.slices != SumOrder::Slices::kSplit) return Declared::joined(dot, slices);
    return Declared::joined(dot, {slices.rbegin(), slices.rend()});
  }
};

struct ScaleOnTheWeight : Declared {  // accumulator_scale taken for an exact weight
  using Declared::Declared;
  Ieee weight(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i,
              Ieee& factor) const override {
    const Ieee w = Declared::weight(layer, expert, o, i, factor);
    const Ieee product = w * factor;
    factor = ieee(ShortNumber::integer(1));
    return product;
  }
};

struct EarlyUnrounded : Declared {  // p·x is not rounded to the token dtype
  using Declared::Declared;
  Ieee token_times_p(const FloatFormat& format, const Ieee& p, const Ieee& x) const override {
    return product(format == kF64 ? kF64 : kF32, p, x);
  }
};

struct HfRoundsRows : Declared {
  using Declared::Declared;
  std::uint64_t output(const FloatFormat& format, const Ieee& shared, const Numbers& p, const Numbers& d,
                       bool) const override {
    return Declared::output(format, shared, p, d, false);
  }
};

struct SharedIsLast : Declared {  // once: shared after the slots
  using Declared::Declared;
  std::uint64_t output(const FloatFormat& format, const Ieee& shared, const Numbers& p, const Numbers& d,
                       bool rows) const override {
    if (arithmetic().profile != Profile::kOnce) return Declared::output(format, shared, p, d, rows);
    const FloatFormat& accumulator = format == kF64 ? kF64 : kF32;
    Ieee r;
    for (std::size_t j = 0; j < d.size(); ++j) r = multiply_add(accumulator, r, p[j], d[j]);
    return encoded(format, sum(accumulator, r, shared));
  }
};

struct SlotsDescend : Declared {
  using Declared::Declared;
  std::uint64_t output(const FloatFormat& format, const Ieee& shared, const Numbers& p, const Numbers& d,
                       bool rows) const override {
    return Declared::output(format, shared, {p.rbegin(), p.rend()}, {d.rbegin(), d.rend()}, rows);
  }
};

struct HalfSteps : Declared {
  using Declared::Declared;
  struct Step : TensorStep {
    int products(const Generation& g) const override { return g.products / 2; }
  };
  const TensorStep& tensor_step() const override {
    static const Step kStep;
    return kStep;
  }
};

struct OneBitMore : Declared {
  using Declared::Declared;
  struct Step : TensorStep {
    int fraction_bits(const Generation& g) const override { return g.fraction_bits + 1; }
  };
  const TensorStep& tensor_step() const override {
    static const Step kStep;
    return kStep;
  }
};

std::vector<DeclaredMutant> declared_mutants() {
  constexpr WeightFormat kMxfp4 = WeightFormat::kMxfp4;
  constexpr WeightFormat kInt4 = WeightFormat::kInt4;
  using A = DeclaredArithmetic;
  const auto profile = [](Profile from, Profile to) {
    return overlooks([from, to](A& a) {
      if (a.profile == from) a.profile = to;
    });
  };
  const auto order = [](auto edit) { return overlooks([edit](A& a) { edit(a.order); }); };
  return {
      {"LateIsOnce", kLinear | kCombine, kMxfp4, profile(Profile::kLate, Profile::kOnce)},
      {"LateIsLateBf16Sum", kLinear | kCombine, kMxfp4, profile(Profile::kLate, Profile::kLateBf16Sum)},
      {"LateBf16SumIsLate", kLinear | kCombine, kMxfp4, profile(Profile::kLateBf16Sum, Profile::kLate)},
      {"HfIsLate", kLinear | kCombine, kMxfp4, profile(Profile::kHf, Profile::kLate)},
      {"HfIsOnce", kLinear, kInt4, profile(Profile::kHf, Profile::kOnce)},
      {"EarlyIsOnce", kLinear, kMxfp4, profile(Profile::kEarly, Profile::kOnce)},
      {"ProductsFused", kLinear | kRows | kCombine, kInt4,
       overlooks([](A& a) { a.products_rounded = false; })},
      {"FtzOverlooked", kLinear | kRows | kCombine, kMxfp4, overlooks([](A& a) { a.ftz = false; })},
      {"WeightBf16Overlooked", kLinear | kRows, kMxfp4, overlooks([](A& a) { a.weight_bf16 = false; })},
      {"DequantOverlooked", kLinear | kRows, kInt4, overlooks([](A& a) { a.dequant = Int4Order::kNorm; })},
      {"OrderOverlooked", kLinear | kRows, kMxfp4, order([](SumOrder& o) { o = SumOrder(); })},
      {"SlicesOverlooked", kLinear | kRows, kMxfp4,
       order([](SumOrder& o) { o.slices = SumOrder::Slices::kNone; })},
      {"StreamKIsSplit", kLinear | kRows, kInt4, order([](SumOrder& o) {
         if (o.slices == SumOrder::Slices::kStreamK) o.slices = SumOrder::Slices::kSplit;
       })},
      {"ShuffleIsSequential", kLinear | kRows, kInt4, order([](SumOrder& o) {
         if (o.chains == SumOrder::Chains::kLanesShfl) o.chains = SumOrder::Chains::kLanesSeq;
       })},
      {"ExactIsF32", kLinear | kRows | kCombine, kMxfp4, overlooks([](A& a) {
         if (a.accumulation == Accumulation::kExact) a.accumulation = Accumulation::kF32Sequential;
       })},
      {"TensorCoreIsF32", kLinear | kRows, kMxfp4, overlooks([](A& a) {
         if (a.accumulation == Accumulation::kTensorCore) a.accumulation = Accumulation::kF32Sequential;
       })},
      {"HopperForAll", kLinear | kRows, kMxfp4, overlooks([](A& a) { a.generation = 4; })},
      {"AmpereForAll", kLinear | kRows, kInt4, overlooks([](A& a) { a.generation = 2; })},
      {"OperandsKept", kLinear | kRows | kCombine, kMxfp4, model_of<OperandsKept>()},
      {"ResultsKept", kRows | kCombine, kMxfp4, model_of<ResultsKept>()},
      {"AccumulatesInF64", kLinear | kRows | kCombine, kMxfp4, model_of<AccumulatesInF64>()},
      {"WeightsInBf16", kLinear | kRows, kMxfp4, model_of<WeightsInBf16>()},
      {"ChainsInReverse", kLinear | kRows, kInt4, model_of<ChainsInReverse>()},
      {"JoinsInReverse", kLinear | kRows, kInt4, model_of<JoinsInReverse>()},
      {"StreamAscending", kRows, kInt4, model_of<StreamAscending>()},
      {"StreamInF32", kRows, kMxfp4, model_of<StreamInF32>()},
      {"SliceKeptInF32", kLinear, kMxfp4, model_of<SliceKeptInF32>()},
      {"SplitJoinedFromTheLast", kLinear, kInt4, model_of<SplitJoinedFromTheLast>()},
      {"ScaleOnTheWeight", kLinear | kRows, kInt4, model_of<ScaleOnTheWeight>()},
      {"EarlyUnrounded", kLinear, kMxfp4, model_of<EarlyUnrounded>()},
      {"HfRoundsRows", kCombine, kMxfp4, model_of<HfRoundsRows>()},
      {"SharedIsLast", kLinear | kCombine, kMxfp4, model_of<SharedIsLast>()},
      {"SlotsDescend", kLinear | kCombine, kMxfp4, model_of<SlotsDescend>()},
      {"HalfSteps", kLinear | kRows, kMxfp4, model_of<HalfSteps>()},
      {"OneBitMore", kLinear | kRows, kInt4, model_of<OneBitMore>()},
  };
}

class WrongDeclared : public ::testing::TestWithParam<DeclaredMutant> {};

TEST_P(WrongDeclared, IsToldFromTheReference) {
  const DeclaredMutant& mutant = GetParam();
  if ((mutant.where & kLinear) != 0) {
    EXPECT_NE(declared_linear_counterexample(mutant.model, mutant.weights, /*shrink=*/false), "")
        << "expert_linear";
  }
  if ((mutant.where & kRows) != 0) {
    EXPECT_NE(declared_rows_counterexample(mutant.model, mutant.weights, /*shrink=*/false), "") << "rows";
  }
  if ((mutant.where & kCombine) != 0) {
    EXPECT_NE(declared_combine_counterexample(mutant.model, /*shrink=*/false), "") << "combine";
  }
}

INSTANTIATE_TEST_SUITE_P(Each, WrongDeclared, ::testing::ValuesIn(declared_mutants()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace differential
