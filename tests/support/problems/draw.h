// Random choices for the generators: splitmix64, started by RapidCheck's generator, which is several times
// slower a word. No std::*_distribution, so that a seed gives the same problems everywhere.
#pragma once

#include <rapidcheck/Random.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace problems {

class Draw {
 public:
  explicit Draw(rc::Random random) : state_(random.next()) {}
  explicit Draw(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t word = state_;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
    word = (word ^ word >> 27) * 0x94D049BB133111EB;
    return word ^ word >> 31;
  }
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
  std::uint64_t state_;
};

}  // namespace problems
