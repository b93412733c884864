#include "oracle/generate/real_like.h"

#include <algorithm>

namespace moe4::oracle {

ExactValue RealLike::token(std::int64_t t, std::int64_t i) const {
  return signed_number(gaussian_token(t, i), -32);
}

void RealLike::row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
                   std::span<std::uint16_t> scales) const {
  const Key code_key = base_.root(kCodeStream)(e)(o);
  const Key scale_key = base_.root(kScaleStream)(e)(o);
  const int exponent = row_exponent(base_.root(kRowStream)(e)(o));
  std::array<std::int32_t, kGroupSize> values;
  for (std::size_t n = 0; n < scales.size(); ++n) {
    const auto g = static_cast<std::int64_t>(n);
    const Source first = source_of(g, 0);
    const Key key = code_key(first.g);
    const std::int32_t factor = group_factor(scale_key(first.g));
    for (std::int64_t l = 0; l < kGroupSize; ++l) {
      const std::int64_t column = source_of(g, l).l;
      values[static_cast<std::size_t>(l)] = gaussian_bytes(key(column).word()) * factor;
    }
    const std::span<std::uint8_t> group_codes = codes.subspan(n * kGroupSize, kGroupSize);
    scales[n] = base_.int4 ? quantise_group_int4(values, exponent, group_codes)
                           : std::uint16_t{quantise_group(values, exponent, group_codes)};
  }
}

void RealLike::mixture(std::int64_t t, std::span<ExactValue> p) const {
  // Slot j takes 3/16 … 5/16 of what the slots before it have left, in units of 2^-32.
  const Key key = base_.root(kMixtureStream)(t);
  std::int64_t left = std::int64_t{1} << 32;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const std::int64_t share = (3 << 12) + key(static_cast<std::int64_t>(j)).bits(0, 13);
    const std::int64_t taken = std::max<std::int64_t>((left * share) >> 16, 1);
    left = std::max<std::int64_t>(left - taken, 1);
    p[j] = base_.poison ? number(false, 3 * taken, -33) : number(false, taken, -32);
  }
}

ExactValue RealLike::shared(std::int64_t t, std::int64_t o) const {
  return signed_number(gaussian_q32(base_.root(kSharedStream)(t)(o)), -33);
}

}  // namespace moe4::oracle
