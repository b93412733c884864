// Data for the benchmarks: shape and magnitudes of a Kimi-K3-like w2, nothing that needs a case line.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/tensor.h"

namespace moe4::bench {

struct Sizes {
  std::int64_t tokens, experts, in, out, top_k;
  std::int64_t multiply_adds() const { return tokens * top_k * in * out; }
};

struct LinearData {
  Tensor latent_tokens, packed_weights, scale_bytes, selected_experts, mixture_weights, shared_output;
};

inline std::uint64_t mix(std::uint64_t counter) {
  std::uint64_t z = counter * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// In (-1, 1), with 8 significant bits, so that it is exact in BF16 too.
inline float small_float(std::uint64_t counter) {
  return (static_cast<float>(mix(counter) % 511) - 255.0f) / 256.0f;
}

inline Tensor floats(Dtype dtype, Shape shape, std::uint64_t seed) {
  Tensor tensor(dtype, std::move(shape));
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    const float value = small_float(seed + static_cast<std::uint64_t>(n));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    const auto at = static_cast<std::size_t>(n);
    if (dtype == Dtype::kBF16) {
      tensor.as<std::uint16_t>()[at] = static_cast<std::uint16_t>(bits >> 16);
    } else {
      tensor.as<float>()[at] = value;
    }
  }
  return tensor;
}

inline Tensor bytes(Shape shape, std::uint64_t low, std::uint64_t count, std::uint64_t seed) {
  Tensor tensor(Dtype::kU8, std::move(shape));
  for (std::uint8_t& byte : tensor.as<std::uint8_t>())
    byte = static_cast<std::uint8_t>(low + mix(++seed) % count);
  return tensor;
}

inline Tensor ids(Shape shape, std::int64_t experts, std::uint64_t seed) {
  Tensor tensor(Dtype::kI32, std::move(shape));
  for (std::int32_t& id : tensor.as<std::int32_t>()) {
    id = static_cast<std::int32_t>(mix(++seed) % static_cast<std::uint64_t>(experts));
  }
  return tensor;
}

// Tokens and shared output of `dtype`, BF16 or F32; scales around 2^-6.
inline LinearData linear_data(const Sizes& s, Dtype dtype) {
  return {floats(dtype, {s.tokens, s.in}, 1 << 20),
          bytes({s.experts, s.out, s.in / 32, 16}, 0, 256, 2 << 20),
          bytes({s.experts, s.out, s.in / 32}, 118, 6, 3 << 20),
          ids({s.tokens, s.top_k}, s.experts, 4 << 20),
          floats(Dtype::kF32, {s.tokens, s.top_k}, 5 << 20),
          floats(dtype, {s.tokens, s.out}, 6 << 20)};
}

}  // namespace moe4::bench
