#include "tests/support/problems/stage_problem.h"

#include <algorithm>

#include "tests/support/problems/draw_bits.h"
#include "tests/support/slow_model/expert_linear.h"

namespace problems {

using slow_model::Dyadic;
using slow_model::FloatFormat;
using slow_model::Problem;
using slow_model::WeightFormat;

Dyadic draw_target(Draw& draw, const FloatFormat& format, const Dyadic& routed) {
  const std::uint64_t max_finite = format.infinity() - 1;
  Dyadic magnitude;
  switch (draw.below(6)) {
    case 0:
      return {};
    case 1:
      magnitude = midpoint_above(format, max_finite);
      break;
    case 2:
      magnitude = midpoint_above(format, draw.below(4));
      break;
    case 3:
      magnitude = midpoint_above(format, draw.below(format.infinity()));
      break;
    default: {
      const std::uint64_t near = last_grid_point_not_above(format, routed);
      magnitude = midpoint_above(format, near > max_finite ? max_finite : near);
      return routed.sign() < 0 ? -magnitude : magnitude;
    }
  }
  return draw.one_in(2) ? -magnitude : magnitude;
}

void cancel_dots(Draw& draw, Problem& problem) {
  // Int4 has no opposite of -8, so that its pairs always have equal codes.
  const bool opposite_tokens = draw.one_in(2) || problem.weights == WeightFormat::kInt4;
  auto& x = problem.latent_tokens.bits;
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) {
    x[i + 1] = opposite_tokens ? x[i] ^ problem.latent_tokens.format.sign_bit() : x[i];
  }
  for (std::uint8_t& byte : problem.packed_weights) {
    const int low = byte & 0x0F;
    const int high = opposite_tokens ? low : low ^ 8;
    byte = static_cast<std::uint8_t>(high << 4 | low);
  }
  for (std::uint32_t& word : problem.packed_words) {
    const std::uint32_t even = word & 0x0F0F0F0F;
    word = even << 4 | even;
  }
}

void plant_infinite_p(Draw& draw, Problem& problem) {
  const FloatFormat& format = problem.mixture_weights.format;
  for (std::uint64_t& p : problem.mixture_weights.bits) {
    if (draw.one_in(2)) {
      p = format.infinity() | (draw.one_in(2) ? format.sign_bit() : 0);
    }
  }
}

void cancel_slots(Draw& draw, Problem& problem) {
  if (problem.top_k < 2) {
    return;
  }
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    if (draw.one_in(4)) {
      continue;
    }
    const std::size_t first = static_cast<std::size_t>(t * problem.top_k);
    problem.selected_experts[first + 1] = problem.selected_experts[first];
    problem.mixture_weights.bits[first + 1] =
        problem.mixture_weights.bits[first] ^ problem.mixture_weights.format.sign_bit();
  }
}

void aim_shared(Draw& draw, Problem& problem) {
  const FloatFormat& format = problem.shared_output.format;
  const slow_model::ExpertLinear model;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    for (std::int64_t o = 0; o < problem.out; ++o) {
      std::uint64_t& s = problem.shared_output.bits[static_cast<std::size_t>(t * problem.out + o)];
      const std::uint64_t before = s;
      s = 0;
      const slow_model::Extended routed = model.before_rounding(problem, t, o);
      if (!routed.is_finite()) {
        s = before;
        continue;
      }
      const Dyadic target = draw_target(draw, problem.output_format(), routed.value);
      s = round_to_nearest_even(format, target - routed.value);
      if (slow_model::is_infinite(format, s)) {
        s = before;
      } else if (draw.one_in(3) && !slow_model::is_zero(format, s)) {
        const std::uint64_t beside = draw.one_in(2) ? s - 1 : s + 1;
        s = slow_model::is_infinite(format, beside) ? s : beside;
      }
    }
  }
}

void plant_ties(Draw& draw, Problem& problem) {
  const FloatFormat& format = problem.output_format();
  problem.shared_output.format = format;
  for (std::int64_t row = 0; row < problem.experts * problem.out; ++row) {  // element 0 is 0.5
    if (problem.weights == WeightFormat::kInt4) {
      std::uint32_t& first_codes = problem.packed_words[static_cast<std::size_t>(row * problem.row_words())];
      first_codes = (first_codes & ~0xFu) | 9;
      problem.scales[static_cast<std::size_t>(row * problem.groups)] = 0x3F00;
    } else {
      std::uint8_t& first_codes = problem.packed_weights[static_cast<std::size_t>(row * problem.row_bytes())];
      first_codes = static_cast<std::uint8_t>((first_codes & 0xF0) | 1);
      problem.scale_bytes[static_cast<std::size_t>(row * problem.groups)] = 127;
    }
  }
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    const std::uint64_t n =
        draw.pick<std::uint64_t>({0, 1, format.infinity() - 1, draw.below(format.infinity())});
    const Dyadic step = grid_point(format, n + 1) - grid_point(format, n);
    const std::uint64_t sign = draw.one_in(2) ? format.sign_bit() : 0;
    for (std::int64_t i = 0; i < problem.in(); ++i) {
      problem.latent_tokens.bits[static_cast<std::size_t>(t * problem.in() + i)] = 0;
    }
    const std::size_t x = static_cast<std::size_t>(t * problem.in());
    problem.latent_tokens.bits[x] = sign | round_to_nearest_even(format, step);
    problem.latent_tokens.bits[x + 1] =
        draw.one_in(3) ? draw.pick({std::uint64_t{1}, format.sign_bit() | 1}) : 0;
    for (std::int64_t slot = 0; slot < problem.top_k; ++slot) {
      problem.mixture_weights.bits[static_cast<std::size_t>(t * problem.top_k + slot)] =
          slot == 0 ? problem.mixture_weights.format.one() : 0;
    }
    for (std::int64_t o = 0; o < problem.out; ++o) {
      problem.shared_output.bits[static_cast<std::size_t>(t * problem.out + o)] = sign | n;
    }
  }
}

void plant_nan_scale(Draw& draw, Problem& problem) {
  const bool int4 = problem.weights == WeightFormat::kInt4;
  const std::size_t groups = int4 ? problem.scales.size() : problem.scale_bytes.size();
  if (groups == 0) {
    return;
  }
  const std::size_t group = draw.below(groups);
  const auto place = static_cast<std::ptrdiff_t>(group);
  if (int4) {
    problem.scales[group] = static_cast<std::uint16_t>(draw_non_finite(draw, slow_model::kBf16));
  } else {
    problem.scale_bytes[group] = 255;
  }
  if (draw.one_in(2)) {
    if (int4) {
      std::fill_n(problem.packed_words.begin() + 4 * place, 4, 0x88888888);
    } else {
      std::fill_n(problem.packed_weights.begin() + 16 * place, 16, std::uint8_t{0x80});
    }
  }
}

void plant_non_finite(Draw& draw, Problem& problem) {
  slow_model::FloatTensor* tensors[] = {&problem.latent_tokens, &problem.mixture_weights,
                                        &problem.shared_output};
  slow_model::FloatTensor& tensor = *tensors[draw.below(3)];
  const std::uint64_t how_many = draw.below(3) + 1;
  for (std::uint64_t n = 0; n < how_many && !tensor.bits.empty(); ++n) {
    tensor.bits[draw.below(tensor.bits.size())] = draw_non_finite(draw, tensor.format);
  }
}

}  // namespace problems
