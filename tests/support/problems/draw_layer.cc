#include "tests/support/problems/draw_layer.h"

#include <algorithm>

#include "tests/support/problems/draw_bits.h"

namespace problems {

using slow_model::Layer;
using slow_model::WeightFormat;

std::vector<std::uint32_t> draw_words(Draw& draw, std::int64_t count) {
  const std::uint64_t mood = draw.below(6);
  const std::uint64_t constant = draw.below(16);
  std::vector<std::uint32_t> result;
  for (std::int64_t n = 0; n < count; ++n) {
    std::uint32_t word = static_cast<std::uint32_t>(draw.bits());
    if (mood == 0) {
      word = static_cast<std::uint32_t>(constant * 0x11111111);
    } else if (mood == 1 && !draw.one_in(8)) {
      word = 0x88888888;
    } else if (mood == 2) {
      word = draw.pick<std::uint32_t>({0x0F7810F8, 0xF0F0F0F0, 0x00000000, 0x87878787, 0x79797979});
    }
    result.push_back(word);
  }
  return result;
}

std::vector<std::uint16_t> draw_int4_scales(Draw& draw, std::int64_t count, bool non_finite) {
  const std::uint64_t mood = draw.below(6);
  const std::vector<std::uint64_t> bits = draw_floats(draw, slow_model::kBf16, draw_float_mood(draw), count);
  std::vector<std::uint16_t> result;
  for (const std::uint64_t drawn : bits) {
    std::uint64_t scale = drawn;
    if (mood == 0) {
      scale = 0x3F80;
    } else if (mood == 1) {  // a mantissa such that most products must be rounded
      scale = 0x3C00 + draw.below(0x200);
    } else if (mood == 2) {
      scale = draw.pick<std::uint64_t>({0x0000, 0x8000, 0x0001, 0x8001, 0x000F, 0x007F, 0x0080, 0x7DFF,
                                        0x7E00, 0x7E92, 0x7E93, 0x7F7F, 0xFF7F});
    }
    if (non_finite && draw.one_in(8)) {
      scale = draw_non_finite(draw, slow_model::kBf16);
    }
    result.push_back(static_cast<std::uint16_t>(scale));
  }
  return result;
}

void draw_weights(Draw& draw, Layer& layer, bool non_finite) {
  const std::int64_t rows = layer.experts * layer.out;
  if (layer.weights == WeightFormat::kInt4) {
    layer.packed_words = draw_words(draw, rows * layer.row_words());
    layer.scales = draw_int4_scales(draw, rows * layer.groups, non_finite);
  } else {
    layer.packed_weights = draw_packed(draw, rows * layer.row_bytes());
    layer.scale_bytes = draw_scale_bytes(draw, rows * layer.groups, non_finite);
  }
}

void draw_scale_policies(Draw& draw, slow_model::Policy& policy) {
  using namespace slow_model;
  policy.scale_nan = draw.pick({ScaleNan::kOcp, ScaleNan::kFormula, ScaleNan::kInf});
  policy.scale_zero = draw.pick({ScaleZero::kExact, ScaleZero::kFlush});
}

void poison_expert(Layer& layer, std::int64_t expert) {
  const std::int64_t groups = layer.out * layer.groups;
  if (layer.weights == WeightFormat::kInt4) {
    std::fill_n(layer.packed_words.begin() + expert * groups * 4, groups * 4, 0xFFFFFFFF);
    std::fill_n(layer.scales.begin() + expert * groups, groups, std::uint16_t{0x7FFF});
  } else {
    std::fill_n(layer.packed_weights.begin() + expert * groups * 16, groups * 16, std::uint8_t{0x77});
    std::fill_n(layer.scale_bytes.begin() + expert * groups, groups, std::uint8_t{255});
  }
}

namespace {

int code_of(const Layer& layer, std::size_t row, std::size_t i) {
  return layer.weights == WeightFormat::kInt4
             ? static_cast<int>(
                   layer.packed_words[row * static_cast<std::size_t>(layer.row_words()) + i / 8] >>
                       4 * (i % 8) &
                   0xF)
             : layer.packed_weights[row * static_cast<std::size_t>(layer.row_bytes()) + i / 2] >>
                       4 * (i % 2) &
                   0xF;
}

void set_code(Layer& layer, std::size_t row, std::size_t i, int code) {
  if (layer.weights == WeightFormat::kInt4) {
    std::uint32_t& word = layer.packed_words[row * static_cast<std::size_t>(layer.row_words()) + i / 8];
    word = (word & ~(0xFu << 4 * (i % 8))) | static_cast<std::uint32_t>(code) << 4 * (i % 8);
  } else {
    std::uint8_t& byte = layer.packed_weights[row * static_cast<std::size_t>(layer.row_bytes()) + i / 2];
    byte = static_cast<std::uint8_t>((byte & ~(0xF << 4 * (i % 2))) | code << 4 * (i % 2));
  }
}

}  // namespace

void plant_large_pair(Draw& draw, const slow_model::FloatFormat& format, std::vector<std::uint64_t>& tokens,
                      Layer& layer) {
  const auto in = static_cast<std::size_t>(layer.in());
  const std::size_t a = draw.below(in);
  const std::size_t b = (a + 1 + draw.below(in - 1)) % in;
  const std::uint64_t times = draw.below(23) + 8;
  for (std::size_t first = 0; first < tokens.size(); first += in) {
    std::uint64_t largest = 0;
    for (std::size_t i = first; i < first + in; ++i) {
      const std::uint64_t magnitude = tokens[i] & ~format.sign_bit();
      if (magnitude < format.infinity()) largest = std::max(largest, magnitude);
    }
    const std::uint64_t large = std::min(largest + (times << format.mantissa_bits), format.infinity() - 1);
    tokens[first + a] = large;
    tokens[first + b] = large | format.sign_bit();
  }
  const auto groups = static_cast<std::size_t>(layer.groups);
  for (std::size_t row = 0; row < static_cast<std::size_t>(layer.experts * layer.out); ++row) {
    const bool int4 = layer.weights == WeightFormat::kInt4;
    int code = code_of(layer, row, a);
    if (code == 8 || (code == 0 && !int4)) code = 11;
    set_code(layer, row, a, code);
    set_code(layer, row, b, code);
    if (int4) {
      layer.scales[row * groups + b / 32] = layer.scales[row * groups + a / 32];
    } else {
      layer.scale_bytes[row * groups + b / 32] = layer.scale_bytes[row * groups + a / 32];
    }
  }
}

}  // namespace problems
