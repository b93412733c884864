// A fixed-point register that holds every sum exactly (a Kulisch accumulator): no rounding, so no order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "reference/arithmetic/round.h"

namespace moe4 {

__extension__ using Uint128 = unsigned __int128;

// A two's complement number of kLimbs 64-bit limbs, limb 0 lowest, in units of 2^kLsb. The user proves that
// the sum fits (accumulate/exact_widths.h); sums on the way may wrap, since arithmetic is modulo 2^(64
// kLimbs).
template <int kLimbs, int kLsb>
class FixedAccumulator {
 public:
  using Limbs = std::array<std::uint64_t, kLimbs>;

  // Adds (-1)^negative * significand * 2^exponent. Precondition: exponent >= kLsb.
  void add(bool negative, Uint128 significand, int exponent) {
    const int position = exponent - kLsb;
    const int first = position / 64;
    const int shift = position % 64;
    const Uint128 low = significand << shift;
    const std::uint64_t over = shift == 0 ? 0 : static_cast<std::uint64_t>(significand >> (128 - shift));
    const std::uint64_t parts[3] = {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(low >> 64),
                                    over};

    // -v is ~v + 1, sign-extended: from the third limb on only the sign and the carry go up, and they cancel
    // as soon as the carry equals the sign.
    const std::uint64_t sign = negative ? ~std::uint64_t{0} : 0;
    bool carry = negative;
    int limb = first;
    for (int k = 0; k < 3 && limb < kLimbs; ++k, ++limb) carry = add_to_limb(limb, parts[k] ^ sign, carry);
    for (; carry != negative && limb < kLimbs; ++limb) carry = add_to_limb(limb, sign, carry);
  }

  // Adds (-1)^negative * significand * 2^exponent * other. Precondition: kOtherLsb + exponent >= kLsb.
  template <int kOtherLimbs, int kOtherLsb>
  void add_product(const FixedAccumulator<kOtherLimbs, kOtherLsb>& other, bool negative,
                   std::uint64_t significand, int exponent) {
    const auto magnitude = other.magnitude();
    for (int limb = 0; limb < kOtherLimbs; ++limb) {
      if (magnitude[limb] == 0) continue;
      add(negative != other.is_negative(), Uint128{magnitude[limb]} * significand,
          kOtherLsb + 64 * limb + exponent);
    }
  }

  // Adds another accumulator. Precondition: kOtherLsb >= kLsb.
  template <int kOtherLimbs, int kOtherLsb>
  void add(const FixedAccumulator<kOtherLimbs, kOtherLsb>& other) {
    static_assert(kOtherLsb >= kLsb);
    add_product(other, false, 1, 0);
  }

  bool is_negative() const { return (limbs_[kLimbs - 1] >> 63) != 0; }
  bool is_zero() const { return limbs_ == Limbs{}; }

  // The limbs of the absolute value.
  Limbs magnitude() const {
    Limbs result = limbs_;
    if (!is_negative()) return result;
    bool carry = true;
    for (std::uint64_t& limb : result) {
      limb = ~limb + (carry ? 1 : 0);
      carry = carry && limb == 0;
    }
    return result;
  }

  // The leading 64 bits of the absolute value, and whether anything lies below: what round_to needs.
  WideMagnitude leading() const {
    const Limbs limbs = magnitude();
    int top = kLimbs - 1;
    while (top >= 0 && limbs[top] == 0) --top;
    if (top < 0) return {};
    const int left = std::countl_zero(limbs[top]);
    std::uint64_t significand = limbs[top] << left;
    bool sticky = false;
    if (top > 0 && left > 0) {
      significand |= limbs[top - 1] >> (64 - left);
      sticky = (limbs[top - 1] << left) != 0;
    }
    for (int limb = top - (left > 0 ? 2 : 1); limb >= 0; --limb) sticky = sticky || limbs[limb] != 0;
    return {significand, kLsb + 64 * top - left, sticky};
  }

 private:
  // limbs_[limb] += value + carry; returns the carry out.
  bool add_to_limb(int limb, std::uint64_t value, bool carry) {
    std::uint64_t sum = 0;
    const bool carry_of_value = __builtin_add_overflow(limbs_[limb], value, &sum);
    const bool carry_of_carry = __builtin_add_overflow(sum, std::uint64_t{carry}, &limbs_[limb]);
    return carry_of_value || carry_of_carry;
  }

  Limbs limbs_{};
};

}  // namespace moe4
