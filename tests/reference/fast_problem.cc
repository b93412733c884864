#include "tests/reference/fast_problem.h"

#include <cmath>
#include <limits>

namespace moe4::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double token_of(Hard kind, Dtype dtype, Random& random) {
  const int reach = dtype == Dtype::kF16 ? 10 : 40;
  switch (kind) {
    case Hard::kGauss:
      return random.gauss();
    case Hard::kIntegers:
      return static_cast<double>(random.between(-3, 3));
    case Hard::kWide:
    case Hard::kWideCancel:
    case Hard::kWideTies:
      return std::ldexp(random.gauss(), static_cast<int>(random.between(-reach, reach / 4)));
    case Hard::kZero:
      return random.below(3) == 0 ? std::ldexp(random.sign(), -3) : random.sign() * 0.0;
    case Hard::kNonFinite:
      return random.gauss();
    case Hard::kExtreme: {
      if (dtype == Dtype::kF16) return random.sign() * (random.below(2) == 0 ? 60000.0 : 0x1p-24);
      return random.sign() * (random.below(2) == 0 ? 0x1.FCp127 : 0x1p-133);
    }
  }
  return 0;
}

std::uint64_t scale_of(Hard kind, WeightFormat format, Random& random) {
  std::uint64_t byte = 127;
  switch (kind) {
    case Hard::kGauss:
    case Hard::kNonFinite:
      byte = static_cast<std::uint64_t>(random.between(119, 124));
      break;
    case Hard::kWide:
    case Hard::kWideCancel:
    case Hard::kWideTies:
      byte = static_cast<std::uint64_t>(random.between(80, 140));
      break;
    case Hard::kExtreme:
      byte = random.below(2) == 0 ? random.below(4) : 254 - random.below(4);
      break;
    default:
      break;
  }
  if (format == WeightFormat::kMxfp4) return byte;
  const std::uint64_t mantissa = kind == Hard::kIntegers || kind == Hard::kZero ? 0 : random.below(128);
  const std::uint64_t sign = kind == Hard::kZero ? 0 : random.below(2);
  return sign << 15 | byte << 7 | mantissa;
}

// Element i of every row is the same nibble of a row of `in`: weight 1 and scale 1 in both formats.
void put_one(HardSet& set, std::int64_t row, std::int64_t in, std::int64_t i, std::uint8_t code) {
  std::byte& byte = set.packed_weights.data()[(row * in + i) / 2];
  const auto keep = static_cast<std::byte>(i % 2 == 0 ? 0xF0 : 0x0F);
  byte = (byte & keep) | static_cast<std::byte>(i % 2 == 0 ? code : code << 4);
}

// The first half of a row of tokens is followed by its negative against the same weights, and the last group
// has three weights of 1 and then zeros, so that the sum is what the tokens are there.
void cancel(HardSet& set, std::int64_t in, double rest) {
  const std::int64_t half = (in / 32 - 1) / 2 * 32;
  const bool mxfp4 = set.format == WeightFormat::kMxfp4;
  const std::uint8_t one = mxfp4 ? 2 : 9;
  const std::uint8_t zero = mxfp4 ? 0 : 8;
  const std::int64_t rows = set.scales.elements() / (in / 32);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::byte* const codes = set.packed_weights.data() + row * in / 2;
    std::copy_n(codes, half / 2, codes + half / 2);
    for (std::int64_t g = 0; g < half / 32; ++g) {
      set_bits(set.scales, row * (in / 32) + half / 32 + g, bits_at(set.scales, row * (in / 32) + g));
    }
    for (std::int64_t i = 2 * half; i < in; ++i) put_one(set, row, in, i, i < 2 * half + 3 ? one : zero);
    for (std::int64_t g = 2 * half / 32; g < in / 32; ++g) {
      set_bits(set.scales, row * (in / 32) + g, mxfp4 ? 127 : 0x3F80);
    }
  }
  const std::int64_t tokens = set.tokens.elements() / in;
  const auto size = size_of(set.tokens.dtype());
  const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      set_bits(set.tokens, t * in + half + i, bits_at(set.tokens, t * in + i) ^ sign);
    }
    put(set.tokens, t * in + 2 * half, 1.0);  // and half an ulp of BF16 or F16: a tie, but for `rest`
    put(set.tokens, t * in + 2 * half + 1, set.tokens.dtype() == Dtype::kF16 ? 0x1p-11 : 0x1p-8);
    put(set.tokens, t * in + 2 * half + 2, rest);
  }
}

}  // namespace

HardSet hard_set(Hard kind, WeightFormat format, const DataSizes& n, std::uint64_t seed) {
  Random random(seed);
  const bool mxfp4 = format == WeightFormat::kMxfp4;
  HardSet set{format,
              Tensor(n.x, {n.tokens, n.in}),
              mxfp4 ? Tensor(Dtype::kU8, {n.experts, n.out, n.in / 32, 16})
                    : Tensor(Dtype::kI32, {n.experts, n.out, n.in / 8}),
              Tensor(mxfp4 ? Dtype::kU8 : Dtype::kBF16, {n.experts, n.out, n.in / 32}),
              Tensor(Dtype::kI32, {n.tokens, n.top_k}),
              Tensor(n.p, {n.tokens, n.top_k}),
              Tensor(n.s, {n.tokens, n.out})};
  for (std::int64_t k = 0; k < set.tokens.elements(); ++k) put(set.tokens, k, token_of(kind, n.x, random));
  for (std::size_t k = 0; k < set.packed_weights.bytes(); ++k) {
    set.packed_weights.data()[k] = static_cast<std::byte>(random.below(256));
  }
  for (std::int64_t k = 0; k < set.scales.elements(); ++k) {
    set_bits(set.scales, k, scale_of(kind, format, random));
  }
  for (std::int64_t k = 0; k < n.tokens * n.top_k; ++k) {
    set_bits(set.selected_experts, k, random.below(static_cast<std::uint64_t>(n.experts)));
    const bool small = kind == Hard::kIntegers || kind == Hard::kWideTies;
    put(set.mixture_weights, k,
        small ? std::ldexp(1.0, static_cast<int>(random.between(-2, 1))) : random.gauss());
  }
  for (std::int64_t k = 0; k < n.tokens * n.out; ++k) {
    const bool integer = kind == Hard::kIntegers;
    put(set.shared_output, k,
        kind == Hard::kZero || kind == Hard::kWideTies ? random.sign() * 0.0
        : integer                                      ? static_cast<double>(random.between(-9, 9))
                                                       : random.gauss());
  }
  if (kind == Hard::kWideCancel) cancel(set, n.in, random.sign() * 0x1p-60);
  if (kind == Hard::kWideTies) cancel(set, n.in, 0.0);
  if (kind == Hard::kZero) {  // even elements of weights are zero, and so are odd ones of tokens
    for (std::size_t k = 0; k < set.packed_weights.bytes(); ++k) {
      std::byte& byte = set.packed_weights.data()[k];
      byte = (byte & std::byte{0xF0}) | static_cast<std::byte>(mxfp4 ? 8 * random.below(2) : 8);
    }
    for (std::int64_t k = 1; k < set.tokens.elements(); k += 2) put(set.tokens, k, random.sign() * 0.0);
  }
  if (kind == Hard::kNonFinite) {
    const double values[] = {kInf, -kInf, kNan};
    const std::uint64_t scales[] = {0x7F80, 0xFF80, 0x7FC1, 0x7F7F};
    for (std::int64_t t = 0; t < n.tokens; t += 2) {
      const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n.in)));
      const double value = values[random.below(3)];
      set_bits(set.tokens, t * n.in + i, std::isnan(value) ? canonical_nan(n.x) | 1 : encode(n.x, value));
      if (t % 4 == 0) set_bits(set.tokens, t * n.in + (i + 7) % n.in, encode(n.x, kInf));
    }
    for (std::int64_t k = 0; k < set.scales.elements(); k += 7) {
      set_bits(set.scales, k, mxfp4 ? 255 : scales[random.below(4)]);
    }
    set_bits(set.mixture_weights, 0, canonical_nan(n.p));
    set_bits(set.mixture_weights, set.mixture_weights.elements() - 1, encode(n.p, -kInf));
    set_bits(set.shared_output, n.out / 2, encode(n.s, kInf));
  }
  return set;
}

Tensor patterned(Dtype dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  std::memset(tensor.data(), 0xA5, tensor.bytes());
  return tensor;
}

void expect_same_bytes(const Tensor& norm, const Tensor& fast, const std::string& what) {
  ASSERT_EQ(norm.shape(), fast.shape()) << what;
  if (std::memcmp(norm.data(), fast.data(), norm.bytes()) == 0) return;
  for (std::int64_t k = 0; k < norm.elements(); ++k) {
    ASSERT_EQ(bits_at(norm, k), bits_at(fast, k)) << what << ", output " << k;
  }
}

fast::Counters expect_same_expert_linear(const LinearInputs& inputs, const Policy& policy,
                                         const std::string& what) {
  const Shape shape = {inputs.latent_tokens.dim(0), inputs.weights.packed_weights.dim(1)};
  Tensor norm = patterned(inputs.latent_tokens.dtype, shape);
  Tensor fast = norm;
  fast::Counters counters;
  EXPECT_FALSE(expert_linear(inputs, norm.mutable_view(), policy)) << what;
  EXPECT_FALSE(fast::expert_linear(inputs, fast.mutable_view(), policy, &counters)) << what;
  expect_same_bytes(norm, fast, what);
  EXPECT_EQ(counters.outputs(), norm.elements()) << what;
  return counters;
}

}  // namespace moe4::test
