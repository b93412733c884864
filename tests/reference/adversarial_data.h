// Data that is hard on an accumulator, for the bounds and the judge. Not the fills of docs/spec/data.md: a
// second source.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "reference/linear/mxfp4_expert_linear.h"
#include "reference/tensor.h"

namespace moe4::test {

enum class Data {
  kGauss,
  kPositive,
  kCancel,
  kSlabCancel,
  kHugeAndSmall,
  kSubnormal,
  kIntegers,
  kOneHot,
  kNearOverflow
};
inline constexpr std::array kAllData = {Data::kGauss,      Data::kPositive,     Data::kCancel,
                                        Data::kSlabCancel, Data::kHugeAndSmall, Data::kSubnormal,
                                        Data::kIntegers,   Data::kOneHot,       Data::kNearOverflow};

struct DataSizes {
  std::int64_t tokens = 16, experts = 4, in = 64, out = 32, top_k = 2;
  Dtype x = Dtype::kBF16;
  Dtype p = Dtype::kF32;
  Dtype s = Dtype::kBF16;
};

struct DataSet {
  Tensor latent_tokens, packed_weights, scale_bytes, selected_experts, mixture_weights, shared_output;

  ExpertLinearInputs inputs() const {
    return {latent_tokens.view(),    packed_weights.view(),  scale_bytes.view(),
            selected_experts.view(), mixture_weights.view(), shared_output.view()};
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(hi - lo + 1)));
  }
  double unit() { return std::ldexp(static_cast<double>(engine_() >> 11), -53); }
  double sign() { return (engine_() & 1) != 0 ? -1.0 : 1.0; }
  double gauss() {  // near enough: twelve uniforms
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += unit();
    return sum;
  }

 private:
  std::mt19937_64 engine_;
};

// The value cut to the dtype: toward zero, clamped to its range.
inline std::uint64_t cut_to(Dtype dtype, double value) {
  if (dtype == Dtype::kF64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == Dtype::kF16) {
    const double magnitude = std::fmin(std::fabs(value), 60000.0);
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int grid = magnitude == 0 ? -24 : std::max(exponent - 11, -24);
    const auto units = static_cast<std::uint64_t>(std::ldexp(magnitude, -grid));
    const std::uint64_t field = static_cast<std::uint64_t>(grid + 24);
    return (std::signbit(value) ? 0x8000U : 0U) + (field << 10) + units;
  }
  const auto narrow = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(narrow);
  return dtype == Dtype::kF32 ? bits : bits >> 16;
}

inline void put(Tensor& tensor, std::int64_t index, double value) {
  const std::uint64_t bits = cut_to(tensor.dtype(), value);
  const std::size_t size = size_of(tensor.dtype());
  std::memcpy(tensor.data() + static_cast<std::size_t>(index) * size, &bits, size);
}

namespace data {

inline double token_value(Data kind, Random& random, std::int64_t i, std::int64_t in) {
  switch (kind) {
    case Data::kGauss:
    case Data::kCancel:
      return random.gauss();
    case Data::kPositive:
      return 1.0 + random.unit();
    case Data::kSlabCancel:  // tall slabs of 8 and 32 with tiny terms between
      return std::ldexp(random.gauss(), static_cast<int>(random.between(-3, 3))) *
             ((i / 8) % 2 == 0 ? 1.0 : -1.0);
    case Data::kHugeAndSmall:
      return std::ldexp(random.gauss(), static_cast<int>(random.between(-30, 30)));
    case Data::kSubnormal:
      return std::ldexp(random.gauss(), static_cast<int>(random.between(-134, -118)));
    case Data::kIntegers:
      return static_cast<double>(random.between(-3, 3));
    case Data::kOneHot:
      return i == in / 2 ? random.gauss() : 0.0;
    case Data::kNearOverflow:
      return std::ldexp(1.0 + random.unit(), static_cast<int>(random.between(110, 122))) * random.sign();
  }
  return 0;
}

inline std::uint8_t scale_byte(Data kind, Random& random) {
  switch (kind) {
    case Data::kGauss:
    case Data::kPositive:
    case Data::kCancel:
      return static_cast<std::uint8_t>(random.between(119, 122));
    case Data::kHugeAndSmall:
      return static_cast<std::uint8_t>(random.between(100, 150));
    case Data::kSubnormal:
      return static_cast<std::uint8_t>(random.between(110, 128));
    case Data::kIntegers:
    case Data::kOneHot:
      return static_cast<std::uint8_t>(random.between(126, 129));
    default:
      return 127;
  }
}

}  // namespace data

inline DataSet make_data(Data kind, const DataSizes& n, std::uint64_t seed) {
  Random random(seed);
  DataSet set{Tensor(n.x, {n.tokens, n.in}),
              Tensor(Dtype::kU8, {n.experts, n.out, n.in / 32, 16}),
              Tensor(Dtype::kU8, {n.experts, n.out, n.in / 32}),
              Tensor(Dtype::kI32, {n.tokens, n.top_k}),
              Tensor(n.p, {n.tokens, n.top_k}),
              Tensor(n.s, {n.tokens, n.out})};
  for (std::int64_t t = 0; t < n.tokens; ++t) {
    for (std::int64_t i = 0; i < n.in; ++i) {
      double v = data::token_value(kind, random, i, n.in);
      if (n.x == Dtype::kF16) v = std::fmod(v, 4.0);
      put(set.latent_tokens, t * n.in + i, v);
    }
  }
  for (std::uint8_t& byte : set.packed_weights.as<std::uint8_t>())
    byte = static_cast<std::uint8_t>(random.below(256));
  for (std::uint8_t& byte : set.scale_bytes.as<std::uint8_t>()) byte = data::scale_byte(kind, random);
  for (std::int32_t& id : set.selected_experts.as<std::int32_t>()) {
    id = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(n.experts)));
  }
  const double s_scale = kind == Data::kSubnormal ? 0x1p-130 : kind == Data::kNearOverflow ? 0x1p120 : 1.0;
  for (std::int64_t k = 0; k < n.tokens * n.top_k; ++k) {
    const double p = kind == Data::kIntegers ? static_cast<double>(random.between(1, 3)) : random.gauss();
    put(set.mixture_weights, k, kind == Data::kPositive ? std::fabs(p) : p);
  }
  for (std::int64_t k = 0; k < n.tokens * n.out; ++k) {
    const double s = kind == Data::kIntegers ? static_cast<double>(random.between(-9, 9)) : random.gauss();
    put(set.shared_output, k, s * s_scale);
  }

  // The second half of every row repeats the first, with the negated token: each dot product cancels but for
  // its last place.
  if (kind == Data::kCancel || kind == Data::kSlabCancel) {
    const std::int64_t half_groups = n.in / 64;
    auto codes = set.packed_weights.as<std::uint8_t>();
    auto scales = set.scale_bytes.as<std::uint8_t>();
    for (std::int64_t row = 0; row < n.experts * n.out; ++row) {
      const auto first = static_cast<std::size_t>(row * (n.in / 32));
      const auto half = static_cast<std::size_t>(half_groups);
      std::copy_n(&codes[first * 16], half * 16, &codes[(first + half) * 16]);
      std::copy_n(&scales[first], half, &scales[first + half]);
    }
    const std::size_t size = size_of(n.x);
    for (std::int64_t t = 0; t < n.tokens; ++t) {
      for (std::int64_t i = 0; i < half_groups * 32; ++i) {
        std::uint64_t bits = 0;
        std::byte* token = set.latent_tokens.data() + static_cast<std::size_t>(t * n.in) * size;
        std::memcpy(&bits, token + static_cast<std::size_t>(i) * size, size);
        bits ^= std::uint64_t{1} << (8 * size - 1);
        if (random.below(16) == 0) bits ^= 1;
        std::memcpy(token + static_cast<std::size_t>(half_groups * 32 + i) * size, &bits, size);
      }
    }
    for (std::int64_t k = 0; k < n.tokens * n.out; ++k) put(set.shared_output, k, 0.0);
  }
  return set;
}

}  // namespace moe4::test
