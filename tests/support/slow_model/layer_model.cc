#include "tests/support/slow_model/layer_model.h"

namespace slow_model {
namespace {

std::size_t group_of(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i) {
  return static_cast<std::size_t>((expert * layer.out + o) * layer.groups + i / 32);  // FMT-4, INT-3
}

}  // namespace

Extended LayerModel::weight_at(const Layer& layer, std::int64_t expert, std::int64_t o,
                               std::int64_t i) const {
  const int c = code(layer, expert, o, i);
  if (layer.weights == WeightFormat::kInt4) {
    return extended(weight_of_scale(layer, c, scale(layer, expert, o, i)));
  }
  return weight(layer, c, scale_byte(layer, expert, o, i));
}

int LayerModel::code(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i) const {
  return layer.weights == WeightFormat::kInt4 ? int4_code_at(layer.word_row(expert, o), i)
                                              : code_at(layer.packed_row(expert, o), i);
}

std::uint8_t LayerModel::scale_byte(const Layer& layer, std::int64_t expert, std::int64_t o,
                                    std::int64_t i) const {
  return layer.scale_bytes[group_of(layer, expert, o, i)];
}

Extended LayerModel::weight(const Layer& layer, int code, std::uint8_t scale_byte) const {
  return weight_of(code, scale_byte, layer.policy.scale_nan, layer.policy.scale_zero);
}

std::uint16_t LayerModel::scale(const Layer& layer, std::int64_t expert, std::int64_t o,
                                std::int64_t i) const {
  return layer.scales[group_of(layer, expert, o, i)];
}

ShortNumber LayerModel::weight_of_scale(const Layer&, int code, std::uint16_t scale) const {
  return int4_term(Int4Order::kNorm, code, short_value_of(kBf16, scale)).weight;  // INT-4, INT-8
}

}  // namespace slow_model
