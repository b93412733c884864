// Weights of either format for a drawn problem, in moods that meet the corners of the formats.
#pragma once

#include "tests/support/problems/draw.h"
#include "tests/support/slow_model/float_format.h"
#include "tests/support/slow_model/layer.h"

namespace problems {

// Fills the tensors of the layer's format for its experts, groups and outputs. non_finite: scale byte 255, or
// scales that are Inf or NaN, may occur.
void draw_weights(Draw& draw, slow_model::Layer& layer, bool non_finite);

// scale_nan and scale_zero, each value as often as the others.
void draw_scale_policies(Draw& draw, slow_model::Policy& policy);

// Whatever may not be read: byte 255 or NaN for every scale of an expert, codes that are not zero.
void poison_expert(slow_model::Layer& layer, std::int64_t expert);

// Two tokens of every row that are 2^8 to 2^30 times the largest, of opposite signs and under equal weights:
// the exact sum is that of the others, but a kernel's shows how it rounded on the way.
void plant_large_pair(Draw& draw, const slow_model::FloatFormat& format, std::vector<std::uint64_t>& tokens,
                      slow_model::Layer& layer);

// Eight int4 codes a word: uniform, one code everywhere, mostly zeros, or the codes of both ends.
std::vector<std::uint32_t> draw_words(Draw& draw, std::int64_t count);

// BF16 scales: any finite ones in a mood of draw_bits.h, or the edges of INT-4's overflow and subnormals.
std::vector<std::uint16_t> draw_int4_scales(Draw& draw, std::int64_t count, bool non_finite);

}  // namespace problems
