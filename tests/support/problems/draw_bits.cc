#include "tests/support/problems/draw_bits.h"

#include <algorithm>

namespace problems {
namespace {

using slow_model::FloatFormat;

std::uint64_t field_max(const FloatFormat& format) { return (std::uint64_t{1} << format.exponent_bits) - 2; }

// Finite, with an exponent field in [low, high] cut to the format's range, and any mantissa.
std::uint64_t magnitude_in(Draw& draw, const FloatFormat& format, std::int64_t low, std::int64_t high) {
  const std::int64_t top = static_cast<std::int64_t>(field_max(format));
  const std::int64_t field =
      draw.between(std::clamp<std::int64_t>(low, 0, top), std::clamp<std::int64_t>(high, 0, top));
  const std::uint64_t mantissa = draw.bits() & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  return static_cast<std::uint64_t>(field) << format.mantissa_bits | mantissa;
}

std::uint64_t edge_magnitude(Draw& draw, const FloatFormat& format) {
  const std::uint64_t min_normal = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t max_finite = format.infinity() - 1;
  return draw.pick<std::uint64_t>({0, 1, 2, 3, min_normal - 1, min_normal, min_normal + 1, format.one() - 1,
                                   format.one(), format.one() + 1, max_finite - 1, max_finite});
}

// A small integer n >= 0 in any of the formats: n = 1.xx * 2^k has few mantissa bits.
std::uint64_t small_integer(const FloatFormat& format, std::uint64_t n) {
  return slow_model::round_to_nearest_even(format, slow_model::Dyadic::scaled(n, 0));
}

}  // namespace

FloatMood draw_float_mood(Draw& draw) {
  return draw.pick({FloatMood::kAnyFinite, FloatMood::kWindow, FloatMood::kWindow, FloatMood::kIntegers,
                    FloatMood::kIntegers, FloatMood::kPowers, FloatMood::kSubnormal, FloatMood::kHuge,
                    FloatMood::kEdges, FloatMood::kSparse});
}

std::vector<std::uint64_t> draw_floats(Draw& draw, const FloatFormat& format, FloatMood mood,
                                       std::int64_t count) {
  const std::int64_t top = static_cast<std::int64_t>(field_max(format));
  const std::int64_t bias = format.bias();
  const std::int64_t centre = draw.one_in(2) ? bias + draw.between(-6, 6) : draw.between(0, top);
  const std::int64_t width = draw.between(0, 12);
  std::vector<std::uint64_t> result;
  for (std::int64_t n = 0; n < count; ++n) {
    std::uint64_t magnitude = 0;
    switch (mood) {
      case FloatMood::kAnyFinite:
        magnitude = magnitude_in(draw, format, 0, top);
        break;
      case FloatMood::kWindow:
        magnitude = magnitude_in(draw, format, centre, centre + width);
        break;
      case FloatMood::kIntegers:
        magnitude = small_integer(format, draw.below(9));
        break;
      case FloatMood::kPowers:
        magnitude = magnitude_in(draw, format, centre, centre + width) >> format.mantissa_bits
                                                                              << format.mantissa_bits;
        break;
      case FloatMood::kSubnormal:
        magnitude = magnitude_in(draw, format, 0, 1);
        break;
      case FloatMood::kHuge:
        magnitude = magnitude_in(draw, format, top - 3, top);
        break;
      case FloatMood::kEdges:
        magnitude = edge_magnitude(draw, format);
        break;
      case FloatMood::kSparse:
        magnitude = draw.one_in(6) ? magnitude_in(draw, format, centre, centre + width) : 0;
        break;
    }
    result.push_back(draw.one_in(2) ? magnitude | format.sign_bit() : magnitude);
  }
  return result;
}

std::uint64_t draw_non_finite(Draw& draw, const FloatFormat& format) {
  const std::uint64_t sign = draw.one_in(2) ? format.sign_bit() : 0;
  if (!draw.one_in(3)) {
    return sign | format.infinity();
  }
  const std::uint64_t largest_payload = (std::uint64_t{1} << format.mantissa_bits) - 1;
  const std::uint64_t payload = draw.pick<std::uint64_t>(
      {1, largest_payload, std::uint64_t{1} << (format.mantissa_bits - 1), 1 + draw.below(largest_payload)});
  return sign | format.infinity() | payload;
}

std::vector<std::uint8_t> draw_scale_bytes(Draw& draw, std::int64_t count, bool nan_scales) {
  const std::uint64_t mood = draw.below(6);
  const std::int64_t low = draw.one_in(2) ? draw.between(115, 135) : draw.between(0, 255);
  const std::int64_t high = std::min<std::int64_t>(255, low + draw.between(0, 10));
  std::vector<std::uint8_t> result;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t byte = 127;
    if (mood == 1 || mood == 2) {
      byte = draw.between(low, high);
    } else if (mood == 3) {
      byte = draw.between(0, 255);
    } else if (mood == 4) {
      byte = draw.pick<std::int64_t>({0, 1, 2, 126, 127, 128, 134, 252, 253, 254, 255});
    } else if (mood == 5) {
      byte = low;
    }
    if (byte == 255 && !nan_scales) {
      byte = 254;
    }
    result.push_back(static_cast<std::uint8_t>(byte));
  }
  return result;
}

std::vector<std::uint8_t> draw_packed(Draw& draw, std::int64_t count) {
  const std::uint64_t mood = draw.below(6);
  const std::uint64_t constant = draw.below(256);
  std::vector<std::uint8_t> result;
  for (std::int64_t n = 0; n < count; ++n) {
    std::uint64_t byte = draw.below(256);
    if (mood == 0) {
      byte = constant;
    } else if (mood == 1 && !draw.one_in(8)) {
      byte = draw.pick<std::uint64_t>({0x00, 0x08, 0x80, 0x88});
    } else if (mood == 2) {
      byte |= 0x77;
    }
    result.push_back(static_cast<std::uint8_t>(byte));
  }
  return result;
}

}  // namespace problems
