#include "tests/reference/routing_problem.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/linear/expert_linear.h"
#include "tests/reference/problem.h"

namespace moe4::test {
namespace {

Tensor packed_of(WeightFormat format, std::int64_t experts, std::int64_t in, std::int64_t out) {
  if (format == WeightFormat::kMxfp4) return Tensor(Dtype::kU8, {experts, out, in / 32, 16});
  return Tensor(Dtype::kI32, {experts, out, in / 8});
}

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return state_ >> 33;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Layer::Layer(WeightFormat f, std::int64_t m, std::int64_t e, std::int64_t i, std::int64_t o)
    : format(f),
      experts(e),
      in(i),
      out(o),
      tokens(Dtype::kBF16, {m, i}),
      packed_weights(packed_of(f, e, i, o)),
      scales(f == WeightFormat::kMxfp4 ? Dtype::kU8 : Dtype::kBF16, {e, o, i / 32}) {
  fill(tokens, 1);
  const bool mxfp4 = format == WeightFormat::kMxfp4;
  for (std::byte* p = packed_weights.data(); p != packed_weights.data() + packed_weights.bytes(); ++p) {
    *p = static_cast<std::byte>(mxfp4 ? 0x22 : 0x99);  // 1.0, or 9 - 8
  }
  for (std::int64_t n = 0; n < scales.elements(); ++n) set_bits(scales, n, mxfp4 ? 127 : 0x3F80);
}

ExpertWeights Layer::weights() const {
  if (format == WeightFormat::kMxfp4) return ExpertWeights::mxfp4(packed_weights.view(), scales.view());
  return ExpertWeights::int4(packed_weights.view(), scales.view());
}

// In either format element i of a row is nibble i, counted from the lowest of the row's first byte.
Layer& Layer::code(std::int64_t e, std::int64_t o, std::int64_t i, std::uint8_t code) {
  std::byte& byte = packed_weights.data()[((e * out + o) * in + i) / 2];
  const auto keep = static_cast<std::byte>(i % 2 == 0 ? 0xF0 : 0x0F);
  byte = (byte & keep) | static_cast<std::byte>(i % 2 == 0 ? code : code << 4);
  return *this;
}

Layer& Layer::scale_bits(std::int64_t e, std::uint64_t bits) {
  const std::int64_t n = out * (in / 32);
  for (std::int64_t k = 0; k < n; ++k) set_bits(scales, e * n + k, bits);
  return *this;
}

Layer& Layer::poison_expert(std::int64_t e) {
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < in; ++i) code(e, o, i, 15);
  }
  return scale_bits(e, format == WeightFormat::kMxfp4 ? 255 : 0x7FC0);
}

Layer drawn_layer(WeightFormat format, std::int64_t tokens, std::int64_t experts, std::int64_t in,
                  std::int64_t out, std::uint64_t seed) {
  Layer layer(format, tokens, experts, in, out);
  Numbers numbers(seed);
  for (std::int64_t n = 0; n < layer.tokens.elements(); ++n) {
    const double mantissa = static_cast<double>(numbers.next() % 511) - 255;
    set(layer.tokens, n, std::ldexp(std::trunc(mantissa / 2), static_cast<int>(numbers.next() % 12) - 10));
  }
  for (std::size_t n = 0; n < layer.packed_weights.bytes(); ++n) {
    layer.packed_weights.data()[n] = static_cast<std::byte>(numbers.next());
  }
  for (std::int64_t n = 0; n < layer.scales.elements(); ++n) {
    const std::uint64_t exponent = 115 + numbers.next() % 20;
    const std::uint64_t bf16 = (numbers.next() & 0x807F) | (exponent << 7);
    set_bits(layer.scales, n, format == WeightFormat::kMxfp4 ? exponent : bf16);
  }
  return layer;
}

Routes drawn_routes(std::int64_t tokens, std::int64_t top_k, std::int64_t experts, std::uint64_t seed,
                    bool absent) {
  Routes routes{tokens, top_k, {}};
  Numbers numbers(seed + 1000);
  for (std::int64_t id = 0; id < tokens * top_k; ++id) {
    const bool none = absent && numbers.next() % 4 == 0;
    const auto expert = static_cast<std::int32_t>(numbers.next() % static_cast<std::uint64_t>(experts));
    routes.expert.push_back(none ? -1 : expert);
  }
  return routes;
}

Tensor rows_by_expert_linear(const Layer& layer, const Routes& routes) {
  const auto count = static_cast<std::int64_t>(routes.expert.size());
  Tensor x(Dtype::kBF16, {count, layer.in});
  for (std::int64_t id = 0; id < count; ++id) {
    for (std::int64_t i = 0; i < layer.in; ++i) {
      set_bits(x, id * layer.in + i, bits_at(layer.tokens, id / routes.top_k * layer.in + i));
    }
  }
  const TensorView ids = {Dtype::kI32, {count, 1}, routes.expert.data(), {}};
  Tensor p(Dtype::kF32, {count, 1});
  fill(p, 1);
  const Tensor shared(Dtype::kBF16, {count, layer.out});
  Policy policy;
  policy.ids = Ids::kAbsent;
  auto output = expert_linear(LinearInputs{x.view(), layer.weights(), ids, p.view(), shared.view()}, policy);
  EXPECT_TRUE(output.ok()) << output.error().message();
  return std::move(output).value();
}

IndexedInputs indexed_inputs(const Layer& layer, const AlignedRoutes& routes) {
  return {layer.tokens.view(),
          layer.weights(),
          routes.sorted_ids_view(),
          routes.expert_ids_view(),
          routes.num_tokens_padded_view(),
          routes.top_k,
          routes.block_m};
}

std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(tensor.data());
  return {begin, begin + tensor.bytes()};
}

std::string message_of(const Status& status) { return status ? status->message() : ""; }

}  // namespace moe4::test
