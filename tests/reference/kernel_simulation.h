// A healthy kernel of profile `once`, simulated in host floats: the dot products in a declared order, the
// slots in one of several orders, one rounding at the end. Test support for the bounds and the judge.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/accumulate/order.h"
#include "reference/arithmetic/round.h"
#include "reference/formats/elements.h"
#include "reference/linear/mxfp4_expert_linear.h"
#include "reference/tensor.h"

namespace moe4::test {

enum class SlotOrder { kSharedFirst, kSharedLast, kBackwards, kHalves, kFused };

struct KernelSimulation {
  Order order;
  bool product_rounded = false;
  SlotOrder slots = SlotOrder::kSharedFirst;
  bool ftz = false;
  bool round_mixture_to_bf16 = false;  // a fault
  bool truncate_output = false;        // a fault
};

namespace simulation {

inline double number(const TensorView& view, std::int64_t index) {
  const std::size_t size = size_of(view.dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(view.data) + static_cast<std::size_t>(index) * size, size);
  const ExactValue v = decode_float(format_of(view.dtype), bits);
  if (v.cls == ValueClass::kNan) return std::nan("");
  const double magnitude = v.is_finite() ? std::ldexp(static_cast<double>(v.significand), v.exponent)
                                         : std::numeric_limits<double>::infinity();
  return v.negative ? -magnitude : magnitude;
}

inline std::uint64_t bf16_of(float value, bool truncate) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7FC0;
  if (truncate) return bits >> 16;
  return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
}

template <class F>
std::uint64_t output_bits(Dtype dtype, F value, bool truncate) {
  if (dtype == Dtype::kBF16) return bf16_of(static_cast<float>(value), truncate);
  const auto as_double = static_cast<double>(value);
  return round_to(format_of(dtype), decode(F64Bits{std::bit_cast<std::uint64_t>(as_double)}));
}

// Subnormals become zeros of their sign if kFtz.
template <bool kFtz, class F>
F flush(F v) {
  if constexpr (!kFtz) return v;
  return std::fabs(v) < std::numeric_limits<F>::min() ? std::copysign(F{0}, v) : v;
}

template <bool kFtz, class F>
F dot(const ChainPlan& plan, const F* w, const F* x, bool product_rounded) {
  std::vector<F> sums(plan.chains.size(), F{0});
  for (std::size_t c = 0; c < plan.chains.size(); ++c) {
    F sum = 0;
    for (const std::int32_t i : plan.chains[c]) {
      if (product_rounded) {
        const F product = flush<kFtz>(flush<kFtz>(w[i]) * flush<kFtz>(x[i]));
        sum = flush<kFtz>(sum + product);
      } else {
        sum = flush<kFtz>(std::fma(flush<kFtz>(w[i]), flush<kFtz>(x[i]), sum));
      }
    }
    sums[c] = sum;
  }
  for (const auto& [into, from] : plan.joins) {
    F& sum = sums[static_cast<std::size_t>(into)];
    sum = flush<kFtz>(sum + sums[static_cast<std::size_t>(from)]);
  }
  return sums[0];
}

// p, d and s are flushed already.
template <bool kFtz, class F>
F combine(F s, const std::vector<F>& p, const std::vector<F>& d, SlotOrder order) {
  const std::size_t n = p.size();
  const auto term = [&](std::size_t j) { return flush<kFtz>(p[j] * d[j]); };
  F sum = 0;
  switch (order) {
    case SlotOrder::kSharedFirst:
      sum = s;
      for (std::size_t j = 0; j < n; ++j) sum = flush<kFtz>(sum + term(j));
      return sum;
    case SlotOrder::kSharedLast:
      for (std::size_t j = 0; j < n; ++j) sum = flush<kFtz>(sum + term(j));
      return flush<kFtz>(sum + s);
    case SlotOrder::kBackwards:
      for (std::size_t j = n; j > 0; --j) sum = flush<kFtz>(sum + term(j - 1));
      return flush<kFtz>(s + sum);
    case SlotOrder::kHalves: {
      std::vector<F> terms;
      for (std::size_t j = 0; j < n; ++j) terms.push_back(term(j));
      terms.push_back(s);
      while (terms.size() > 1) {
        const std::size_t half = (terms.size() + 1) / 2;
        for (std::size_t k = half; k < terms.size(); ++k) {
          terms[k - half] = flush<kFtz>(terms[k - half] + terms[k]);
        }
        terms.resize(half);
      }
      return terms[0];
    }
    case SlotOrder::kFused:
      sum = s;
      for (std::size_t j = 0; j < n; ++j) sum = flush<kFtz>(std::fma(p[j], d[j], sum));
      return sum;
  }
  return sum;
}

template <bool kFtz, class F>
void run(const ExpertLinearInputs& in, const KernelSimulation& kernel, Tensor& output) {
  constexpr float kCodes[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0f, -0.5, -1, -1.5, -2, -3, -4, -6};
  const std::int64_t tokens = in.latent_tokens.dim(0);
  const std::int64_t width = in.latent_tokens.dim(1);
  const std::int64_t out = in.packed_weights.dim(1);
  const std::int64_t top_k = in.selected_experts.dim(1);
  const auto* codes = static_cast<const std::uint8_t*>(in.packed_weights.data);
  const auto* scales = static_cast<const std::uint8_t*>(in.scale_bytes.data);
  const Elements<2> ids(in.selected_experts);
  const ChainPlan plan = plan_chains(kernel.order, width);
  const std::int64_t experts = in.packed_weights.dim(0);

  std::vector<F> w(static_cast<std::size_t>(experts * out * width));
  for (std::size_t k = 0; k < w.size(); ++k) {
    const int code = (codes[k / 2] >> (k % 2 == 0 ? 0 : 4)) & 0xF;
    const int scale = scales[k / 32];
    w[k] = scale == 255 ? std::numeric_limits<F>::quiet_NaN()
                        : std::ldexp(static_cast<F>(kCodes[code]), scale - 127);
  }
  std::vector<F> x(static_cast<std::size_t>(width));
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < width; ++i) {
      x[static_cast<std::size_t>(i)] = static_cast<F>(number(in.latent_tokens, t * width + i));
    }
    for (std::int64_t o = 0; o < out; ++o) {
      std::vector<F> p;
      std::vector<F> d;
      for (std::int64_t j = 0; j < top_k; ++j) {
        const std::int64_t e = ids.integer({t, j});
        F weight = static_cast<F>(number(in.mixture_weights, t * top_k + j));
        if (kernel.round_mixture_to_bf16) {
          weight = std::bit_cast<float>(
              static_cast<std::uint32_t>(bf16_of(static_cast<float>(weight), false) << 16));
        }
        p.push_back(flush<kFtz>(weight));
        d.push_back(dot<kFtz, F>(plan, w.data() + (e * out + o) * width, x.data(), kernel.product_rounded));
      }
      const F sum = combine<kFtz, F>(flush<kFtz>(static_cast<F>(number(in.shared_output, t * out + o))), p, d,
                                     kernel.slots);
      const std::uint64_t bits = output_bits(output.dtype(), sum, kernel.truncate_output);
      const std::size_t size = size_of(output.dtype());
      std::memcpy(output.data() + static_cast<std::size_t>(t * out + o) * size, &bits, size);
    }
  }
}

}  // namespace simulation

// Contiguous inputs, ids in range, weights within F32's range. kAny runs as seq.
inline Tensor simulate(const ExpertLinearInputs& inputs, const KernelSimulation& kernel) {
  Tensor output(inputs.latent_tokens.dtype, {inputs.latent_tokens.dim(0), inputs.packed_weights.dim(1)});
  if (output.dtype() == Dtype::kF64) {
    simulation::run<false, double>(inputs, kernel, output);
  } else if (kernel.ftz) {
    simulation::run<true, float>(inputs, kernel, output);
  } else {
    simulation::run<false, float>(inputs, kernel, output);
  }
  return output;
}

}  // namespace moe4::test
