#include "oracle/generate/matched_scales.h"

#include <algorithm>

#include "oracle/generate/int4_scale.h"

namespace moe4::oracle {

MatchedScales::MatchedScales(const FillBase& base, const Limits& limits)
    : groups_(base.root(kGroupStream)), target_(limits.target), min_exponent_(limits.min_exponent) {
  const ScaleWindow window = base.line.scales.value_or(
      ScaleWindow{static_cast<std::uint8_t>(limits.min_byte), static_cast<std::uint8_t>(limits.max_byte)});
  window_lo_ = std::max<int>(window.lo, limits.min_byte);
  window_hi_ = std::min<int>(window.hi, limits.last_byte);
  spread_ = std::min(limits.spread, window_hi_ - window_lo_);
  first_base_ = window_lo_;
  last_base_ = window_hi_ - spread_;
  if (base.half_range) {
    first_base_ = std::max(first_base_, target_ - limits.max_exponent);
    last_base_ = std::min(last_base_, target_ - limits.min_exponent);
  } else if (limits.keep_target) {
    first_base_ = std::max(first_base_, last_base_ - (limits.max_exponent - limits.min_exponent));
    target_ = std::max(target_, last_base_ + limits.min_exponent);
  }
}

int MatchedScales::base(std::int64_t g) const {
  return first_base_ + static_cast<int>(groups_(g).pick(last_base_ - first_base_ + 1));
}

int MatchedScales::token_exponent(std::int64_t g) const { return std::max(target_ - base(g), min_exponent_); }

MatchedScales exact_scales(const FillBase& base) {
  // Byte 252 is the last whose weights all fit FP32, so that no intermediate of any profile overflows; for
  // INT4 exponent field 250 is.
  const int first = base.int4 ? 1 : 0;
  const int last = base.int4 ? kInt4LastField : 252;
  const int asked = base.int4 ? kInt4LastField : 254;
  if (base.half_range) return {base, {112, first, last, asked, 7, -14, 8, true}};
  return {base, {120, first, last, asked, 7, -126, 120, true}};
}

MatchedScales bits_scales(const FillBase& base) {
  const int last = base.int4 ? kInt4LastField : 254;
  const int down = base.int4 ? 2 : 0;  // q is about four times as large as a code of E2M1
  if (base.half_range) return {base, {110 - down, 0, last, last, 11, -13, 13, false}};
  return {base, {123 - down, 0, last, last, 11, -126, 123, false}};
}

MatchedScales tall_scales(const FillBase& base) {
  const int first = base.int4 ? 1 : 0;
  const int last = base.int4 ? kInt4LastField : 252;
  if (base.half_range) return {base, {112, first, last, last, 4, -12, -9, true}};
  return {base, {95, first, last, last, 4, -124, 95, true}};
}

}  // namespace moe4::oracle
