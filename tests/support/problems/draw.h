// Random choices for the generators, on top of RapidCheck's generator of 64-bit words. No
// std::*_distribution, so that a seed gives the same problems everywhere.
#pragma once

#include <rapidcheck/Random.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace problems {

class Draw {
 public:
  explicit Draw(const rc::Random& random) : random_(random) {}

  std::uint64_t bits() { return random_.next(); }
  std::uint64_t below(std::uint64_t n) { return bits() % n; }  // n >= 1; the bias of 2^-50 is no matter here
  std::int64_t between(std::int64_t low, std::int64_t high) {  // both included
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  rc::Random random_;
};

}  // namespace problems
