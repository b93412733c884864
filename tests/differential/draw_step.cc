#include "tests/differential/draw_step.h"

#include <algorithm>

#include "tests/support/problems/draw_bits.h"

namespace differential {
namespace {

using problems::Draw;
using namespace slow_model;

// Sign, exponent and mantissa as they come; the exponent is cut to the format's range, subnormals included.
std::uint64_t number(Draw& draw, const FloatFormat& format, std::int64_t exponent) {
  const std::int64_t top = (std::int64_t{1} << format.exponent_bits) - 2;
  const auto field = static_cast<std::uint64_t>(std::clamp<std::int64_t>(exponent + format.bias(), 0, top));
  std::uint64_t mantissa = draw.bits() % (std::uint64_t{1} << format.mantissa_bits);
  if (draw.one_in(3)) mantissa = 0;
  if (draw.one_in(6)) mantissa = (std::uint64_t{1} << format.mantissa_bits) - 1;
  return (draw.one_in(2) ? format.sign_bit() : 0) | field << format.mantissa_bits | mantissa;
}

// A product whose exponent is near `exponent`, split between the factors anyhow.
void put_product(Draw& draw, DrawnStep& step, std::size_t k, std::int64_t exponent) {
  const std::int64_t bias = step.format.bias();
  const std::int64_t low = std::max(-bias, exponent - bias);
  const std::int64_t high = std::min(bias, exponent + bias);
  const std::int64_t left = low <= high ? draw.between(low, high) : exponent / 2;
  step.a[k] = number(draw, step.format, left);
  step.b[k] = number(draw, step.format, exponent - left);
}

void put_zero(Draw& draw, DrawnStep& step, std::size_t k) {
  step.a[k] = draw.one_in(2) ? step.format.sign_bit() : 0;
  step.b[k] = draw.one_in(2) ? number(draw, step.format, draw.between(-200, 200)) : 0;
  if (draw.one_in(2)) std::swap(step.a[k], step.b[k]);
}

// c near the negative of what the products are, so that small terms show.
std::uint32_t near_cancellation(const DrawnStep& step) {
  Dyadic sum;
  for (std::size_t k = 0; k < step.a.size(); ++k) {
    const ShortNumber product =
        short_value_of(step.format, step.a[k]) * short_value_of(step.format, step.b[k]);
    if (product.is_finite()) sum = sum - extended(product).value;
  }
  const std::uint64_t c = round_to_nearest_even(kF32, sum);
  return static_cast<std::uint32_t>(is_infinite(kF32, c) ? c - 1 : c);
}

}  // namespace

DrawnStep draw_step(Draw& draw, const Generation& generation) {
  DrawnStep step;
  step.format = generation.takes_bf16 && draw.one_in(2) ? kBf16 : kF16;
  const auto length = static_cast<std::uint64_t>(generation.products);
  const std::size_t count = draw.one_in(8) ? 1 + draw.below(length) : length;
  step.a.assign(count, 0);
  step.b.assign(count, 0);
  const std::int64_t reach = 2 * step.format.bias();
  const std::int64_t f = generation.fraction_bits;
  const std::int64_t centre = draw.pick<std::int64_t>(
      {draw.between(-8, 8), draw.between(-reach, reach), draw.between(100, 128),
       generation.zero_exponent + draw.between(-4, 30), draw.between(-160, -120), -reach});
  const std::uint64_t spread = draw.below(4);
  const std::uint64_t zeros = draw.pick<std::uint64_t>({1000, 4, 2, 1});
  for (std::size_t k = 0; k < count; ++k) {
    std::int64_t exponent = centre;
    if (spread == 1) exponent -= draw.between(0, f + 6);
    if (spread == 2) exponent -= draw.pick<std::int64_t>({0, 0, f - 10, f - 2, f - 1, f, f + 1, f + 2});
    if (spread == 3) exponent = draw.between(-reach, reach);
    if (draw.one_in(zeros) && !(k == 0 && draw.one_in(2))) {
      put_zero(draw, step, k);
    } else {
      put_product(draw, step, k, exponent);
    }
  }
  if (count > 1 && draw.one_in(4)) {  // a large term and its opposite: what the others leave shows
    step.a[1] = step.a[0] ^ step.format.sign_bit();
    step.b[1] = step.b[0];
  }
  switch (draw.below(6)) {
    case 0:
      step.c = draw.pick<std::uint32_t>({0x00000000, 0x00000000, 0x80000000});
      break;
    case 1:
      step.c = static_cast<std::uint32_t>(number(draw, kF32, centre + draw.between(-f - 3, 3)));
      break;
    case 2:
      step.c = near_cancellation(step);
      break;
    case 3:
      step.c = static_cast<std::uint32_t>(draw.bits() & 0x807FFFFF) |
               draw.pick<std::uint32_t>({0x00000000, 0x00800000, 0x7F000000});
      break;
    case 4:
      step.c =
          draw.pick<std::uint32_t>({0x7F7FFFFF, 0xFF7FFFFF, 0x00000001, 0x80000001, 0x00800000, 0x7F000000});
      break;
    default:
      step.c = static_cast<std::uint32_t>(number(draw, kF32, centre));
      break;
  }
  if (draw.one_in(16)) {
    const std::size_t k = draw.below(count);
    step.a[k] = problems::draw_non_finite(draw, step.format);
    if (draw.one_in(3)) step.b[k] = 0;
    if (count > 1 && draw.one_in(2)) step.b[draw.below(count)] = problems::draw_non_finite(draw, step.format);
  }
  if (draw.one_in(24)) step.c = static_cast<std::uint32_t>(problems::draw_non_finite(draw, kF32));
  return step;
}

}  // namespace differential
