// Nibble shuffles inside machine words, and unaligned little-endian access.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace moe4::gpu {

static_assert(std::endian::native == std::endian::little, "packed weights are little-endian words");

template <class Word>
Word load(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

template <class Word>
void store(std::byte* to, Word word) {
  std::memcpy(to, &word, sizeof word);
}

// The 8 nibbles of x in the low halves of 8 bytes.
constexpr std::uint64_t nibbles_to_bytes(std::uint32_t x) {
  std::uint64_t y = x;
  y = (y | y << 16) & 0x0000FFFF0000FFFFull;
  y = (y | y << 8) & 0x00FF00FF00FF00FFull;
  return (y | y << 4) & 0x0F0F0F0F0F0F0F0Full;
}

// The 4 nibbles of x in the lowest nibbles of 4 halfwords.
constexpr std::uint64_t nibbles_to_halfwords(std::uint32_t x) {
  std::uint64_t y = x & 0xFFFFu;
  y = (y | y << 24) & 0x000000FF000000FFull;
  return (y | y << 12) & 0x000F000F000F000Full;
}

// The low nibbles of the 4 bytes of x in the low halfword.
constexpr std::uint32_t bytes_to_nibbles(std::uint32_t x) {
  x &= 0x0F0F0F0Fu;
  x = (x | x >> 4) & 0x00FF00FFu;
  return (x | x >> 8) & 0xFFFFu;
}

}  // namespace moe4::gpu
