#include "tests/support/slow_model/mxfp4.h"

namespace slow_model {
namespace {

struct E2m1 {
  bool negative;
  std::uint64_t halves;
};

constexpr E2m1 kE2m1[16] = {
    {false, 0}, {false, 1}, {false, 2}, {false, 3}, {false, 4}, {false, 6}, {false, 8}, {false, 12},
    {true, 0},  {true, 1},  {true, 2},  {true, 3},  {true, 4},  {true, 6},  {true, 8},  {true, 12},
};

}  // namespace

Dyadic e2m1_value(int code) {
  const E2m1 entry = kE2m1[code];
  const Dyadic magnitude = Dyadic::scaled(entry.halves, -1);
  return entry.negative ? -magnitude : magnitude;
}

int code_at(std::span<const std::uint8_t> row, std::int64_t i) {
  const std::uint8_t byte = row[static_cast<std::size_t>(i / 2)];
  return i % 2 == 0 ? byte % 16 : byte / 16;  // FMT-3
}

Extended weight_of(int code, std::uint8_t scale_byte, ScaleNan scale_nan, ScaleZero scale_zero) {
  const Dyadic value = e2m1_value(code);
  if (scale_byte == 255 && scale_nan == ScaleNan::kOcp) {
    return Extended::nan();  // COR-1
  }
  if (scale_byte == 255 && scale_nan == ScaleNan::kInf) {
    return Extended::infinite(false) * Extended::finite(value);  // COR-1: a zero code gives NaN
  }
  if (scale_byte == 0 && scale_zero == ScaleZero::kFlush) {
    return Extended::finite({});  // COR-2
  }
  return Extended::finite(value * Dyadic::scaled(1, long{scale_byte} - 127));  // FMT-5, COR-1 formula
}

}  // namespace slow_model
