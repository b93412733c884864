#include "tests/differential/mutants.h"

#include <algorithm>

namespace differential {
namespace {

using namespace slow_model;
using Slots = std::vector<std::int64_t>;

// The value after a rounding to a narrower format, which the norm never does.
Extended narrowed(const FloatFormat& format, const Extended& number) {
  return number.is_finite() ? value_of(format, round_to_nearest_even(format, number.value)) : number;
}

struct SwappedNibbles : ExpertLinear {
  int code(const Layer& p, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    return ExpertLinear::code(p, e, o, i ^ 1);
  }
};

struct SplitHalfNibbles : ExpertLinear {
  int code(const Layer& p, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    const std::int64_t in_group = i % 32;
    return ExpertLinear::code(p, e, o,
                              i - in_group + (in_group < 16 ? 2 * in_group : 2 * (in_group - 16) + 1));
  }
};

struct LastElementDropped : ExpertLinear {
  std::int64_t summed_width(const Problem& p) const override { return p.in() - 1; }
};

struct LastGroupOfThreeDropped : ExpertLinear {
  std::int64_t summed_width(const Problem& p) const override { return std::min<std::int64_t>(p.in(), 64); }
};

struct LargestCodeIsFive : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    const Extended scale = ExpertLinear::weight(p, 2, byte);
    return code == 7 ? scale * Extended::finite(Dyadic::scaled(5, 0)) : ExpertLinear::weight(p, code, byte);
  }
};

struct CodeOneIsZero : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return ExpertLinear::weight(p, code % 8 == 1 ? code - 1 : code, byte);
  }
};

struct ScaleOfTheFirstGroup : ExpertLinear {
  std::uint8_t scale_byte(const Layer& p, std::int64_t e, std::int64_t o, std::int64_t) const override {
    return ExpertLinear::scale_byte(p, e, o, 0);
  }
};

struct ScaleBias128 : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return ExpertLinear::weight(p, code, byte) * Extended::finite(Dyadic::scaled(1, -1));
  }
};

struct ScaleByteZeroIsZero : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return byte == 0 ? Extended() : ExpertLinear::weight(p, code, byte);
  }
};

struct ScaleByte134IsNan : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return byte == 134 ? Extended::nan() : ExpertLinear::weight(p, code, byte);
  }
};

struct ScaleByte255SparesZeroCodes : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return byte == 255 && code % 8 == 0 ? Extended() : ExpertLinear::weight(p, code, byte);
  }
};

struct ScaleByte255IsAlwaysInfinite : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return byte == 255 ? weight_of(code, byte, ScaleNan::kInf, ScaleZero::kExact)
                       : ExpertLinear::weight(p, code, byte);
  }
};

struct WeightsRoundedToBf16 : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return narrowed(kBf16, ExpertLinear::weight(p, code, byte));
  }
};

struct FlushIgnored : ExpertLinear {
  Extended weight(const Layer& p, int code, std::uint8_t byte) const override {
    return weight_of(code, byte, p.policy.scale_nan, ScaleZero::kExact);
  }
};

struct SubnormalTokensFlushed : ExpertLinear {
  Extended token(const Problem& p, std::int64_t t, std::int64_t i) const override {
    const Extended x = ExpertLinear::token(p, t, i);
    const FloatFormat& format = p.latent_tokens.format;
    const Dyadic smallest_normal = grid_point(format, std::uint64_t{1} << format.mantissa_bits);
    return x.is_finite() && x.value.magnitude() < smallest_normal ? Extended() : x;
  }
};

struct PRoundedToBf16 : ExpertLinear {
  Extended mixture(const Problem& p, std::int64_t t, std::int64_t slot) const override {
    return narrowed(kBf16, ExpertLinear::mixture(p, t, slot));
  }
};

struct PLeftOut : ExpertLinear {
  Extended weighted(const Problem&, const Extended&, const Extended& dot) const override { return dot; }
};

struct PTwice : ExpertLinear {
  Extended weighted(const Problem&, const Extended& p, const Extended& dot) const override {
    return p * p * dot;
  }
};

struct SharedLeftOut : ExpertLinear {
  Extended shared(const Problem& p, std::int64_t t, std::int64_t o) const override {
    return slots(p, t).empty() ? ExpertLinear::shared(p, t, o) : Extended();
  }
};

struct SharedRoundedToTheTokensDtype : ExpertLinear {
  Extended shared(const Problem& p, std::int64_t t, std::int64_t o) const override {
    return narrowed(p.output_format(), ExpertLinear::shared(p, t, o));
  }
};

struct DuplicatesCountOnce : ExpertLinear {
  Slots slots(const Problem& p, std::int64_t t) const override {
    Slots result;
    std::vector<std::int64_t> seen;
    for (const std::int64_t slot : ExpertLinear::slots(p, t)) {
      const std::int64_t id = expert(p, t, slot);
      if (std::find(seen.begin(), seen.end(), id) == seen.end()) result.push_back(slot);
      seen.push_back(id);
    }
    return result;
  }
};

struct FourthSlotDropped : ExpertLinear {
  Slots slots(const Problem& p, std::int64_t t) const override {
    Slots result = ExpertLinear::slots(p, t);
    std::erase(result, 3);
    return result;
  }
};

struct ZeroPAlwaysSkipped : ExpertLinear {
  Slots slots(const Problem& p, std::int64_t t) const override {
    Problem skipping = p;
    skipping.policy.skip_zero_p = SkipZeroP::kYes;
    return ExpertLinear::slots(skipping, t);
  }
};

struct ZeroPNeverSkipped : ExpertLinear {
  Slots slots(const Problem& p, std::int64_t t) const override {
    Problem keeping = p;
    keeping.policy.skip_zero_p = SkipZeroP::kNo;
    return ExpertLinear::slots(keeping, t);
  }
};

struct AbsentSlotsAreExpertZero : ExpertLinear {
  std::int64_t expert(const Problem& p, std::int64_t t, std::int64_t slot) const override {
    return std::max<std::int64_t>(0, ExpertLinear::expert(p, t, slot));
  }
};

struct DotRoundedToF64 : ExpertLinear {
  Extended weighted(const Problem&, const Extended& p, const Extended& dot) const override {
    return p * narrowed(kF64, dot);
  }
};

struct DotRoundedToTheTokensDtype : ExpertLinear {
  Extended weighted(const Problem& problem, const Extended& p, const Extended& dot) const override {
    return p * narrowed(problem.output_format(), dot);
  }
};

struct InfinitePOnZeroIsZero : ExpertLinear {
  Extended weighted(const Problem& problem, const Extended& p, const Extended& dot) const override {
    const bool zero = p.is_infinite() && dot.is_finite() && dot.value.is_zero();
    return zero ? Extended() : ExpertLinear::weighted(problem, p, dot);
  }
};

struct InfinitePIsNan : ExpertLinear {
  Extended weighted(const Problem& problem, const Extended& p, const Extended& dot) const override {
    return p.is_infinite() ? Extended::nan() : ExpertLinear::weighted(problem, p, dot);
  }
};

struct RoundsTowardZero : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t below = last_grid_point_not_above(format, number);
    return number.sign() < 0 ? format.sign_bit() | below : below;
  }
};

struct RoundsTiesAway : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t below = last_grid_point_not_above(format, number);
    const bool up = below < format.infinity() && number.magnitude() >= midpoint_above(format, below);
    return (number.sign() < 0 ? format.sign_bit() : 0) | (up ? below + 1 : below);
  }
};

struct RoundsTwiceThroughF32 : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t f32 = round_to_nearest_even(kF32, number);
    if (format == kF64 || is_infinite(kF32, f32) || is_zero(kF32, f32))
      return round_to_nearest_even(format, number);
    return round_to_nearest_even(format, value_of(kF32, f32).value);
  }
};

struct Saturates : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t y = round_to_nearest_even(format, number);
    return is_infinite(format, y) ? y - 1 : y;
  }
};

struct OverflowsAtTheLargest : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t y = round_to_nearest_even(format, number);
    const bool beyond = number.magnitude() > grid_point(format, format.infinity() - 1);
    return beyond ? (y & format.sign_bit()) | format.infinity() : y;
  }
};

struct SubnormalResultsFlushed : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t y = round_to_nearest_even(format, number);
    return (y & format.infinity()) == 0 ? y & format.sign_bit() : y;
  }
};

struct UnderflowLosesTheSign : ExpertLinear {
  std::uint64_t rounded(const FloatFormat& format, const Dyadic& number) const override {
    const std::uint64_t y = round_to_nearest_even(format, number);
    return is_zero(format, y) ? 0 : y;
  }
};

struct ZeroKeepsTheSignOfShared : ExpertLinear {
  std::uint64_t zero_result(const Problem& p, std::int64_t t, std::int64_t o) const override {
    const std::uint64_t s = p.shared_output.bits[static_cast<std::size_t>(t * p.out + o)];
    return s == p.shared_output.format.sign_bit() ? p.output_format().sign_bit() : 0;
  }
};

struct ZeroIsAlwaysPlus : ExpertLinear {
  std::uint64_t zero_result(const Problem&, std::int64_t, std::int64_t) const override { return 0; }
};

template <class Model>
Mutant of(const char* name) {
  return {name, std::make_shared<Model>()};
}

}  // namespace

std::vector<Mutant> mutants() {
  return {
      of<SwappedNibbles>("SwappedNibbles"),
      of<SplitHalfNibbles>("SplitHalfNibbles"),
      of<LastElementDropped>("LastElementDropped"),
      of<LastGroupOfThreeDropped>("LastGroupOfThreeDropped"),
      of<LargestCodeIsFive>("LargestCodeIsFive"),
      of<CodeOneIsZero>("CodeOneIsZero"),
      of<ScaleOfTheFirstGroup>("ScaleOfTheFirstGroup"),
      of<ScaleBias128>("ScaleBias128"),
      of<ScaleByteZeroIsZero>("ScaleByteZeroIsZero"),
      of<ScaleByte134IsNan>("ScaleByte134IsNan"),
      of<ScaleByte255SparesZeroCodes>("ScaleByte255SparesZeroCodes"),
      of<ScaleByte255IsAlwaysInfinite>("ScaleByte255IsAlwaysInfinite"),
      of<WeightsRoundedToBf16>("WeightsRoundedToBf16"),
      of<FlushIgnored>("FlushIgnored"),
      of<SubnormalTokensFlushed>("SubnormalTokensFlushed"),
      of<PRoundedToBf16>("PRoundedToBf16"),
      of<PLeftOut>("PLeftOut"),
      of<PTwice>("PTwice"),
      of<SharedLeftOut>("SharedLeftOut"),
      of<SharedRoundedToTheTokensDtype>("SharedRoundedToTheTokensDtype"),
      of<DuplicatesCountOnce>("DuplicatesCountOnce"),
      of<FourthSlotDropped>("FourthSlotDropped"),
      of<ZeroPAlwaysSkipped>("ZeroPAlwaysSkipped"),
      of<ZeroPNeverSkipped>("ZeroPNeverSkipped"),
      of<AbsentSlotsAreExpertZero>("AbsentSlotsAreExpertZero"),
      of<DotRoundedToF64>("DotRoundedToF64"),
      of<DotRoundedToTheTokensDtype>("DotRoundedToTheTokensDtype"),
      of<InfinitePOnZeroIsZero>("InfinitePOnZeroIsZero"),
      of<InfinitePIsNan>("InfinitePIsNan"),
      of<RoundsTowardZero>("RoundsTowardZero"),
      of<RoundsTiesAway>("RoundsTiesAway"),
      of<RoundsTwiceThroughF32>("RoundsTwiceThroughF32"),
      of<Saturates>("Saturates"),
      of<OverflowsAtTheLargest>("OverflowsAtTheLargest"),
      of<SubnormalResultsFlushed>("SubnormalResultsFlushed"),
      of<UnderflowLosesTheSign>("UnderflowLosesTheSign"),
      of<ZeroKeepsTheSignOfShared>("ZeroKeepsTheSignOfShared"),
      of<ZeroIsAlwaysPlus>("ZeroIsAlwaysPlus"),
  };
}

}  // namespace differential
