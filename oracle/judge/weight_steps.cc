#include "oracle/judge/weight_steps.h"

#include <algorithm>
#include <cmath>

#include "reference/formats/e2m1.h"
#include "reference/linear/weight.h"

namespace moe4::oracle {
namespace {

void set_largest(GroupSteps& steps) {
  steps.largest = *std::max_element(steps.of_code.begin(), steps.of_code.end());
}

// VER-10: delta(c)·2^(b-127) under the policies; 0 where the pair is never covered so.
GroupSteps steps_of_byte(int byte, const Policy& policy) {
  constexpr std::array<double, 8> kStepHalves = {1, 1, 1, 1, 1, 2, 2, 4};
  GroupSteps steps;
  const auto weights = weights_of_group(E8M0Bits{static_cast<std::uint8_t>(byte)}, policy);
  if (!weights[1].is_finite()) return steps;
  const bool flushed = byte == 0 && policy.scale_zero == ScaleZero::kFlush;
  for (std::size_t code = 0; code < 16; ++code) {
    // A flushed group differs from an unflushed one by its codes' own values.
    const double halves = flushed ? kE2M1Halves[code & 7] : kStepHalves[code & 7];
    steps.of_code[code] = std::ldexp(halves, byte - 128);
  }
  set_largest(steps);
  return steps;
}

// The weights of codes 0..15 ascend or descend: the nearest is a neighbour.
void steps_of_int4(const GroupMagnitudes& weights, GroupSteps& steps) {
  std::array<double, 16> value;
  for (std::size_t c = 0; c < 16; ++c) value[c] = weights.of_code[c].value * (c < 8 ? -1 : 1);
  for (std::size_t c = 0; c < 16; ++c) {
    const double below = c > 0 ? value[c] - value[c - 1] : HUGE_VAL;
    const double above = c < 15 ? value[c + 1] - value[c] : HUGE_VAL;
    steps.of_code[c] = std::min(below, above);
  }
  set_largest(steps);
}

}  // namespace

WeightSteps::WeightSteps(const CaseData& data)
    : data_(data), magnitudes_(data), groups_(data.scale_tensor().dim(2)), nonfinite_(true) {
  if (data.weights == WeightFormat::kInt4) return;
  nonfinite_ = !scale_value(kE8M0Nan, data.policy).is_finite();
  for (int byte = 0; byte < 256; ++byte) {
    of_byte_[static_cast<std::size_t>(byte)] = steps_of_byte(byte, data.policy);
  }
}

std::uint8_t WeightSteps::key(std::int64_t row, std::int64_t g) const {
  const auto at = static_cast<std::size_t>(row * groups_ + g);
  if (data_.weights == WeightFormat::kMxfp4) return data_.scale_bytes.as<std::uint8_t>()[at];
  return static_cast<std::uint8_t>(data_.scales.as<std::uint16_t>()[at] >> 7 & 0xFF);
}

const GroupSteps& WeightSteps::group(std::int64_t row, std::int64_t g, GroupSteps& scratch) const {
  if (data_.weights == WeightFormat::kMxfp4) return of_byte_[key(row, g)];
  GroupMagnitudes weights;
  scratch.largest = 0;
  if (magnitudes_.group(row, g, weights)) steps_of_int4(weights, scratch);
  return scratch;
}

}  // namespace moe4::oracle
