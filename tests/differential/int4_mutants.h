// Wrong steps in reading INT4 weights, as a class over any model that multiplies with weights: ExpertLinear
// or Rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/slow_model/layer_model.h"

namespace differential {

using namespace slow_model;  // NOLINT: what is below are models, in the models' own words

// The weight by another order of INT-9.
template <class Base, Int4Order kOrder>
struct DequantisedBy : Base {
  ShortNumber weight_of_scale(const Layer&, int code, std::uint16_t scale) const override {
    return int4_term(kOrder, code, short_value_of(kBf16, scale)).weight;
  }
};

template <class Base>
struct FirstCodeHighest : Base {  // element 0 in bits 28..31
  int code(const Layer& layer, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    return Base::code(layer, e, o, i - i % 8 + (7 - i % 8));
  }
};

template <class Base>
struct BytesSwapped : Base {  // nibbles of a byte in the other order
  int code(const Layer& layer, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    return Base::code(layer, e, o, i ^ 1);
  }
};

template <class Base>
struct InterleavedWord : Base {  // 0 2 4 6 1 3 5 7, as some kernels pack it
  int code(const Layer& layer, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    const std::int64_t j = i % 8;
    return Base::code(layer, e, o, i - j + (j % 2 == 0 ? j / 2 : 4 + j / 2));
  }
};

template <class Base>
struct LargestCodeIsClamped : Base {  // q clamped to -7..7, as symmetric quantisers do
  ShortNumber weight_of_scale(const Layer& layer, int code, std::uint16_t scale) const override {
    return Base::weight_of_scale(layer, code == 0 ? 1 : code, scale);
  }
};

template <class Base>
struct ScaleOfTheFirstGroupInt4 : Base {
  std::uint16_t scale(const Layer& layer, std::int64_t e, std::int64_t o, std::int64_t) const override {
    return Base::scale(layer, e, o, 0);
  }
};

template <class Base>
struct ScaleSignIgnored : Base {
  std::uint16_t scale(const Layer& layer, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    return Base::scale(layer, e, o, i) & 0x7FFF;
  }
};

template <class Base>
struct SubnormalScaleFlushed : Base {
  std::uint16_t scale(const Layer& layer, std::int64_t e, std::int64_t o, std::int64_t i) const override {
    const std::uint16_t s = Base::scale(layer, e, o, i);
    return (s & 0x7F80) == 0 ? s & 0x8000 : s;
  }
};

template <class Base>
struct SubnormalWeightFlushed : Base {
  ShortNumber weight_of_scale(const Layer& layer, int code, std::uint16_t scale) const override {
    const ShortNumber w = Base::weight_of_scale(layer, code, scale);
    return w.is_finite() && (round_to(kBf16, w) & 0x7F80) == 0 ? ShortNumber() : w;
  }
};

template <class Base>
struct WeightSaturates : Base {
  ShortNumber weight_of_scale(const Layer& layer, int code, std::uint16_t scale) const override {
    const ShortNumber w = Base::weight_of_scale(layer, code, scale);
    const bool overflowed = w.is_infinite() && (scale & 0x7FFF) != 0x7F80;
    return overflowed ? short_value_of(kBf16, w.negative ? 0xFF7F : 0x7F7F) : w;
  }
};

template <class Base>
struct ZeroCodeIgnoresTheScale : Base {
  ShortNumber weight_of_scale(const Layer& layer, int code, std::uint16_t scale) const override {
    return code == 8 ? ShortNumber() : Base::weight_of_scale(layer, code, scale);
  }
};

template <class Base>
struct ZeroScaleFlushPolicy : Base {  // scale_zero=flush read into INT4 (INT-8)
  ShortNumber weight_of_scale(const Layer& layer, int code, std::uint16_t scale) const override {
    const bool flush = layer.policy.scale_zero == ScaleZero::kFlush && (scale & 0x7F80) == 0;
    return flush ? ShortNumber() : Base::weight_of_scale(layer, code, scale);
  }
};

template <class Base>
struct Int4Mutant {
  std::string name;
  std::shared_ptr<const Base> model;
};

template <class Base>
std::vector<Int4Mutant<Base>> int4_mutants() {
  return {
      {"Fma", std::make_shared<DequantisedBy<Base, Int4Order::kFma>>()},
      {"TwoRoundings", std::make_shared<DequantisedBy<Base, Int4Order::kTwoRoundings>>()},
      {"Truncate", std::make_shared<DequantisedBy<Base, Int4Order::kTruncate>>()},
      {"TiesAway", std::make_shared<DequantisedBy<Base, Int4Order::kTiesAway>>()},
      {"F16Multiply", std::make_shared<DequantisedBy<Base, Int4Order::kF16Multiply>>()},
      {"ZeroPoint7", std::make_shared<DequantisedBy<Base, Int4Order::kZeroPoint7>>()},
      {"TwosComplement", std::make_shared<DequantisedBy<Base, Int4Order::kTwosComplement>>()},
      {"ExactW", std::make_shared<DequantisedBy<Base, Int4Order::kExactW>>()},
      {"ScaleLeftOut", std::make_shared<DequantisedBy<Base, Int4Order::kAccumulatorScale>>()},
      {"FirstCodeHighest", std::make_shared<FirstCodeHighest<Base>>()},
      {"BytesSwapped", std::make_shared<BytesSwapped<Base>>()},
      {"InterleavedWord", std::make_shared<InterleavedWord<Base>>()},
      {"LargestCodeIsClamped", std::make_shared<LargestCodeIsClamped<Base>>()},
      {"ScaleOfTheFirstGroup", std::make_shared<ScaleOfTheFirstGroupInt4<Base>>()},
      {"ScaleSignIgnored", std::make_shared<ScaleSignIgnored<Base>>()},
      {"SubnormalScaleFlushed", std::make_shared<SubnormalScaleFlushed<Base>>()},
      {"SubnormalWeightFlushed", std::make_shared<SubnormalWeightFlushed<Base>>()},
      {"WeightSaturates", std::make_shared<WeightSaturates<Base>>()},
      {"ZeroCodeIgnoresTheScale", std::make_shared<ZeroCodeIgnoresTheScale<Base>>()},
      {"ZeroScaleFlushPolicy", std::make_shared<ZeroScaleFlushPolicy<Base>>()},
  };
}

}  // namespace differential
