#include "oracle/generate/code_magnitudes.h"

#include <bit>
#include <cmath>
#include <vector>

#include "reference/formats/e2m1.h"
#include "reference/formats/packed_codes.h"
#include "reference/formats/packed_words.h"
#include "reference/linear/int4_weight.h"

namespace moe4::oracle {
namespace {

std::array<Magnitude, 16> halves_of_codes() {
  std::array<Magnitude, 16> table;
  for (std::size_t code = 0; code < 16; ++code) {
    const unsigned halves = kE2M1Halves[code & 7];
    if (halves != 0) table[code] = {static_cast<double>(halves), std::countr_zero(halves)};
  }
  return table;
}

// |RNE_bf16(q·s)| for the magnitudes of all BF16 scales, q = 0..8: the sign of the product does not matter to
// its rounding.
class Int4Table {
 public:
  Int4Table() : weights_(std::size_t{kScales} * 9) {
    for (unsigned scale = 0; scale < kScales; ++scale) {
      for (std::uint8_t q = 0; q <= 8; ++q) {
        const Int4Bits code{static_cast<std::uint8_t>(kInt4ZeroPoint - q)};
        const BF16Bits weight = int4_weight(code, BF16Bits{static_cast<std::uint16_t>(scale)});
        Magnitude& m = weights_[scale * 9 + q];
        if (!magnitude_of(decode_float(kBF16, weight.bits & 0x7FFF), m)) m.value = HUGE_VAL;
      }
    }
  }

  const Magnitude* of(std::uint16_t scale) const { return &weights_[(scale & 0x7FFFu) * std::size_t{9}]; }

 private:
  static constexpr unsigned kScales = 0x8000;
  std::vector<Magnitude> weights_;
};

}  // namespace

bool magnitude_of(const ExactValue& value, Magnitude& to) {
  if (!value.is_finite()) return false;
  to = {};
  if (value.is_zero()) return true;
  const int zeros = std::countr_zero(value.significand);
  to.lowest = value.exponent + zeros;
  to.value = std::ldexp(static_cast<double>(value.significand >> zeros), to.lowest);
  return to.lowest > -300 && to.value < std::ldexp(1.0, 300);
}

CodeMagnitudes::CodeMagnitudes(const CaseData& data) : data_(data), groups_(data.scale_tensor().dim(2)) {}

bool CodeMagnitudes::group(std::int64_t row, std::int64_t g, GroupMagnitudes& to) const {
  const auto at = static_cast<std::size_t>(row * groups_ + g);
  if (data_.weights == WeightFormat::kMxfp4) {
    static const std::array<Magnitude, 16> kHalves = halves_of_codes();
    const std::uint8_t byte = data_.scale_bytes.as<std::uint8_t>()[at];
    if (byte == 255) return false;
    const int exponent = byte - 128;  // the table is in halves
    const double factor = std::ldexp(1.0, exponent);
    for (std::size_t code = 0; code < 16; ++code) {
      to.of_code[code] = {kHalves[code].value * factor,
                          kHalves[code].lowest == kNoBits ? kNoBits : kHalves[code].lowest + exponent};
    }
    return true;
  }
  static const Int4Table kTable;
  const Magnitude* weights = kTable.of(data_.scales.as<std::uint16_t>()[at]);
  if (!(weights[8].value < HUGE_VAL) || !(weights[0].value < HUGE_VAL)) return false;
  for (std::size_t code = 0; code < 16; ++code) to.of_code[code] = weights[code < 8 ? 8 - code : code - 8];
  return true;
}

void CodeMagnitudes::codes(std::int64_t row, std::int64_t g, std::array<std::uint8_t, 32>& to) const {
  if (data_.weights == WeightFormat::kMxfp4) {
    const std::uint8_t* bytes =
        data_.packed_weights.as<std::uint8_t>().data() + (row * groups_ + g) * kGroupBytes;
    for (std::size_t b = 0; b < kGroupBytes; ++b) {
      to[2 * b] = bytes[b] & 15;
      to[2 * b + 1] = bytes[b] >> 4;
    }
    return;
  }
  const std::int32_t* words =
      data_.packed_weights.as<std::int32_t>().data() + (row * groups_ + g) * kGroupWords;
  for (std::size_t k = 0; k < 32; ++k) {
    to[k] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(words[k / 8]) >> (4 * (k % 8)) & 15);
  }
}

}  // namespace moe4::oracle
