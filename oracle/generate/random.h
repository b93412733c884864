// Random numbers as a function of coordinates (DATA-1 … DATA-3). No state, so no order of drawing: every
// number is the same on every platform and for every number of threads.
#pragma once

#include <cstdint>

namespace moe4::oracle {

// DATA-1. A key is a 64-bit word; taking up a coordinate gives another key.
class Key {
 public:
  static constexpr Key from_seed(std::uint64_t seed) { return Key(mix(seed)); }

  constexpr Key operator()(std::int64_t coordinate) const {
    return Key(mix(word_ + 0x9E3779B97F4A7C15u * (static_cast<std::uint64_t>(coordinate) + 1)));
  }

  constexpr std::uint64_t word() const { return word_; }

  // Bits first … first+count-1 of the word; bit 0 is the lowest.
  constexpr std::int64_t bits(int first, int count) const {
    return static_cast<std::int64_t>((word_ >> first) & ((std::uint64_t{1} << count) - 1));
  }

  // DATA-3: 0 … n-1.
  constexpr std::int64_t pick(std::int64_t n) const {
    return static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(word_) * static_cast<std::uint64_t>(n)) >> 64);
  }

 private:
  explicit constexpr Key(std::uint64_t word) : word_(word) {}

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t word_;
};

// DATA-2: the first coordinate under a root says what is drawn.
enum Stream : std::int64_t {
  kTokenStream = 1,
  kCodeStream = 2,
  kScaleStream = 3,
  kMixtureStream = 4,
  kSharedStream = 5,
  kGroupStream = 6,
  kRowStream = 7,
  kPlantStream = 8,
};

// DATA-4: a Gaussian of mean 0 and variance 1 in units of 2^-32: twelve uniform 32-bit numbers minus 6·2^32.
constexpr std::int64_t gaussian_q32(Key key) {
  std::uint64_t sum = 0;
  for (int n = 0; n < 6; ++n) {
    const std::uint64_t word = key(n).word();
    sum += (word & 0xFFFFFFFFu) + (word >> 32);
  }
  return static_cast<std::int64_t>(sum) - (std::int64_t{6} << 32);
}

}  // namespace moe4::oracle
