// Float encodings, scale bytes and packed codes as bit patterns, in moods that meet the corners of the
// formats: a uniform draw of values would hardly ever give a subnormal, a tie or a cancellation.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/float_format.h"

namespace problems {

// How the elements of one tensor are drawn; a tensor draws its mood first.
enum class FloatMood {
  kAnyFinite,  // any finite encoding
  kWindow,     // exponents within a few binades of each other
  kIntegers,   // -8..8: many ties and exact zeros
  kPowers,     // signed powers of two within a few binades
  kSubnormal,  // exponent fields 0 and 1
  kHuge,       // the highest finite exponents
  kEdges,      // zeros, ends of the subnormal and normal ranges, ones and their neighbours
  kSparse,     // mostly zeros of both signs
};

FloatMood draw_float_mood(Draw& draw);

// count finite encodings.
std::vector<std::uint64_t> draw_floats(Draw& draw, const slow_model::FloatFormat& format, FloatMood mood,
                                       std::int64_t count);

// +-Inf, or a NaN of any sign and payload.
std::uint64_t draw_non_finite(Draw& draw, const slow_model::FloatFormat& format);

// Scale bytes of one problem: one byte, a narrow window anywhere in 0..255, edge bytes, or uniform. Byte 255
// only if nan_scales.
std::vector<std::uint8_t> draw_scale_bytes(Draw& draw, std::int64_t count, bool nan_scales);

// Packed codes: uniform, one byte everywhere, mostly zeros of both signs, or the largest magnitudes.
std::vector<std::uint8_t> draw_packed(Draw& draw, std::int64_t count);

}  // namespace problems
