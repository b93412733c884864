// PRO-4 to PRO-9: from the dot products of a token's slots to one output, in the letters of the rules.
#pragma once

#include <cstdint>
#include <span>

#include "reference/arithmetic/round.h"
#include "reference/formats/float_format.h"
#include "reference/profile/arithmetic.h"
#include "reference/routing/slots.h"

namespace moe4 {

template <class Ops>
struct ProfileTerms {
  ExactValue s;
  std::span<const Slot> slots;  // p_j; the contributing ones
  std::span<const typename Ops::Dot> d;
  bool d_is_stored = false;  // combine: d_j has been rounded by who computed it (PRO-11)
};

// y as bits of `output`, R the rounding to it. Precondition: profile is not early if p enters here a second
// time.
template <class Ops>
std::uint64_t profile_output(const Ops& ops, RoundingProfile profile, const FloatFormat& output,
                             const ProfileTerms<Ops>& terms) {
  using Number = typename Ops::Number;
  if (terms.slots.empty()) return round_to(output, terms.s);  // PRO-4
  const auto taken_up = [&](std::uint64_t bits) { return ops.of(decode_float(output, bits)); };
  const auto stored = [&](const Number& v) { return taken_up(ops.round(output, v)); };
  const Number s = ops.of(terms.s);

  switch (profile) {
    case RoundingProfile::kOnce: {
      Number r = ops.add(s, ops.zero());
      for (std::size_t j = 0; j < terms.d.size(); ++j) r = ops.add_product(r, terms.slots[j].p, terms.d[j]);
      return ops.round(output, r);
    }
    case RoundingProfile::kLate: {
      Number r = ops.zero();
      for (std::size_t j = 0; j < terms.d.size(); ++j) {
        r = ops.add(r, stored(ops.product(terms.slots[j].p, terms.d[j])));
      }
      return ops.round(output, ops.add(stored(r), s));
    }
    case RoundingProfile::kLateBf16Sum: {
      Number r = ops.zero();
      for (std::size_t j = 0; j < terms.d.size(); ++j) {
        r = stored(ops.add(r, stored(ops.product(terms.slots[j].p, terms.d[j]))));
      }
      return ops.round(output, ops.add(r, s));
    }
    case RoundingProfile::kHf: {
      Number r = ops.zero();
      for (std::size_t j = 0; j < terms.d.size(); ++j) {
        const auto v = terms.d_is_stored
                           ? terms.d[j]
                           : ops.dot_of(decode_float(output, ops.round_dot(output, terms.d[j])));
        r = ops.add(r, ops.product(terms.slots[j].p, v));
      }
      return ops.round(output, ops.add(stored(r), s));
    }
    case RoundingProfile::kEarly: {  // p is in d
      Number r = ops.add(s, ops.zero());
      for (const auto& d : terms.d) r = ops.add(r, ops.of_dot(d));
      return ops.round(output, r);
    }
  }
  return output.canonical_nan();
}

}  // namespace moe4
