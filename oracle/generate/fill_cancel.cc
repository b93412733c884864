// fill=cancel and fill=slab_cancel (DATA-28, DATA-29): large terms that cancel and leave a small result.
#include <algorithm>
#include <cstdlib>

#include "oracle/generate/real_like.h"

namespace moe4::oracle {
namespace {

// Columns l and l + 16 of a group have equal weights and opposite tokens, but for one pair a group, whose
// tokens differ by about one ulp.
class Cancel final : public RealLike {
 public:
  using RealLike::RealLike;

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const std::int64_t g = i / kGroupSize;
    const std::int64_t l = i % kGroupSize;
    if (l < 16) return RealLike::token(t, i);
    const std::int64_t twin = gaussian_token(t, i - 16);
    const bool leftover = base_.root(kPlantStream)(t)(g).pick(16) == l - 16;
    const std::int64_t ulp = std::max<std::int64_t>(std::abs(twin) >> base_.format.mantissa_bits, 1);
    const std::int64_t size = std::abs(twin) + (leftover ? ulp : 0);
    return number(twin >= 0, size, -32);
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    return signed_number(gaussian_q32(base_.root(kSharedStream)(t)(o)), -43);
  }

 protected:
  Source source_of(std::int64_t g, std::int64_t l) const override { return {g, l % 16}; }
};

// Slabs of 64 columns in pairs: the second repeats the first backwards with opposite tokens, except in tiny
// columns, whose tokens are 2^-16 as large and do not cancel. The sizes of the others are spread over 2^16,
// so that most additions round: what is left is little more than the tiny columns and the rounding errors.
class SlabCancel final : public RealLike {
 public:
  using RealLike::RealLike;

  ExactValue token(std::int64_t t, std::int64_t i) const override {
    const std::int64_t pair = i / 128;
    const bool second = i % 128 >= 64;
    const std::int64_t column = second ? 63 - i % 64 : i % 64;
    const Key planted = base_.root(kPlantStream)(pair)(column);
    if (planted.bits(0, 3) == 0) return signed_number(gaussian_token(t, i), -48);
    const std::int64_t first = gaussian_token(t, pair * 128 + column);
    const int spread = static_cast<int>(planted(t).bits(0, 4));
    return signed_number(second ? -first : first, -32 - spread);
  }

  ExactValue shared(std::int64_t t, std::int64_t o) const override {
    return signed_number(gaussian_q32(base_.root(kSharedStream)(t)(o)), -52);
  }

 protected:
  Source source_of(std::int64_t g, std::int64_t l) const override {
    if (g % 4 < 2) return {g, l};
    return {g / 4 * 4 + 3 - g % 4, kGroupSize - 1 - l};
  }
};

}  // namespace

std::unique_ptr<FillData> make_cancel_fill(const Case& c) { return std::make_unique<Cancel>(c); }
std::unique_ptr<FillData> make_slab_cancel_fill(const Case& c) { return std::make_unique<SlabCancel>(c); }

}  // namespace moe4::oracle
