#include "tests/support/slow_model/dyadic.h"

#include <algorithm>
#include <bit>

namespace slow_model {

Dyadic Dyadic::scaled(std::uint64_t magnitude, long exponent) {
  long place = exponent / 32;
  long shift = exponent % 32;
  if (shift < 0) {
    shift += 32;
    place -= 1;
  }
  const std::uint64_t low = (magnitude & 0xFFFFFFFFu) << shift;
  const std::uint64_t high = ((magnitude >> 32) << shift) + (low >> 32);
  Dyadic result;
  result.place_ = place;
  result.digits_ = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high),
                    static_cast<std::uint32_t>(high >> 32)};
  result.trim();
  return result;
}

std::uint32_t Dyadic::digit(long place) const {
  if (place < place_ || place >= end()) {
    return 0;
  }
  return digits_[static_cast<std::size_t>(place - place_)];
}

void Dyadic::trim() {
  while (!digits_.empty() && digits_.back() == 0) {
    digits_.pop_back();
  }
  const auto first = std::find_if(digits_.begin(), digits_.end(), [](std::uint32_t d) { return d != 0; });
  place_ += first - digits_.begin();
  digits_.erase(digits_.begin(), first);
  if (digits_.empty()) {
    place_ = 0;
    negative_ = false;
  }
}

Dyadic::Leading Dyadic::leading() const {
  Leading result;
  if (is_zero()) {
    return result;
  }
  const int free_bits = std::countl_zero(digits_.back());
  const long top = end() - 1;
  result.magnitude = std::uint64_t{digit(top)} << 32 | digit(top - 1);
  result.magnitude <<= free_bits;
  const std::uint64_t third = std::uint64_t{digit(top - 2)} << free_bits;
  result.magnitude |= third >> 32;
  result.exponent = 32 * (top - 1) - free_bits;
  // Any digit below the third is not zero at its low end (trim).
  if ((third & 0xFFFFFFFFu) != 0 || place_ < top - 2) {
    result.magnitude |= 1;
  }
  return result;
}

Dyadic Dyadic::operator-() const {
  Dyadic result = *this;
  result.negative_ = !is_zero() && !negative_;
  return result;
}

Dyadic Dyadic::magnitude() const { return sign() < 0 ? -*this : *this; }

std::strong_ordering Dyadic::compare_magnitudes(const Dyadic& a, const Dyadic& b) {
  if (a.is_zero() || b.is_zero()) {
    return b.is_zero() <=> a.is_zero();
  }
  for (long place = std::max(a.end(), b.end()) - 1; place >= std::min(a.place_, b.place_); --place) {
    if (a.digit(place) != b.digit(place)) {
      return a.digit(place) <=> b.digit(place);
    }
  }
  return std::strong_ordering::equal;
}

Dyadic Dyadic::add_magnitudes(const Dyadic& a, const Dyadic& b) {
  Dyadic result;
  result.place_ = std::min(a.place_, b.place_);
  std::uint64_t carry = 0;
  for (long place = result.place_; place <= std::max(a.end(), b.end()); ++place) {
    carry += std::uint64_t{a.digit(place)} + b.digit(place);
    result.digits_.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  result.trim();
  return result;
}

Dyadic Dyadic::subtract_magnitudes(const Dyadic& larger, const Dyadic& smaller) {
  Dyadic result;
  result.place_ = std::min(larger.place_, smaller.place_);
  std::int64_t borrow = 0;
  for (long place = result.place_; place < larger.end(); ++place) {
    std::int64_t difference = std::int64_t{larger.digit(place)} - smaller.digit(place) - borrow;
    borrow = difference < 0 ? 1 : 0;
    difference += borrow << 32;
    result.digits_.push_back(static_cast<std::uint32_t>(difference));
  }
  result.trim();
  return result;
}

Dyadic operator+(const Dyadic& a, const Dyadic& b) {
  if (a.is_zero() || b.is_zero()) {
    return a.is_zero() ? b : a;
  }
  if (a.negative_ == b.negative_) {
    const Dyadic sum = Dyadic::add_magnitudes(a, b);
    return a.negative_ ? -sum : sum;
  }
  const bool a_is_larger = Dyadic::compare_magnitudes(a, b) > 0;
  const Dyadic& larger = a_is_larger ? a : b;
  const Dyadic& smaller = a_is_larger ? b : a;
  const Dyadic difference = Dyadic::subtract_magnitudes(larger, smaller);
  return larger.negative_ ? -difference : difference;
}

Dyadic operator*(const Dyadic& a, const Dyadic& b) {
  Dyadic result;
  if (a.is_zero() || b.is_zero()) {
    return result;
  }
  result.place_ = a.place_ + b.place_;
  result.digits_.assign(a.digits_.size() + b.digits_.size(), 0);
  for (std::size_t i = 0; i < a.digits_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.digits_.size(); ++j) {
      carry += std::uint64_t{a.digits_[i]} * b.digits_[j] + result.digits_[i + j];
      result.digits_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    result.digits_[i + b.digits_.size()] = static_cast<std::uint32_t>(carry);
  }
  result.trim();
  return a.negative_ == b.negative_ ? result : -result;
}

std::strong_ordering operator<=>(const Dyadic& a, const Dyadic& b) {
  if (a.sign() != b.sign()) {
    return a.sign() <=> b.sign();
  }
  return a.sign() < 0 ? Dyadic::compare_magnitudes(b, a) : Dyadic::compare_magnitudes(a, b);
}

}  // namespace slow_model
