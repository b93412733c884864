// A kernel of any declared arithmetic, simulated in host floats and tensor-core steps; the sums over slots in
// one of several orders, which a declaration leaves open. Test support for the bounds. Faults are for
// planting.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "reference/accumulate/order.h"
#include "reference/accumulate/tensor_core.h"
#include "reference/arithmetic/round.h"
#include "reference/bound/exact_double.h"
#include "reference/bound/weight_tables.h"
#include "reference/linear/expert_linear.h"
#include "reference/profile/arithmetic.h"
#include "reference/routing/slots.h"

namespace moe4::test {

struct DeclaredKernel {
  Arithmetic arithmetic;
  bool backwards = false;     // sums over slots from the last to the first
  bool shared_first = false;  // once and early: shared before the slots
  std::int64_t drop = -1;     // a fault: this column is left out
  int accumulator_bits = 24;  // a fault: sums of chains are cut to fewer bits, as FP8 units do
};

class DeclaredSimulation {
 public:
  DeclaredSimulation(const DeclaredKernel& kernel, std::int64_t in, Dtype tokens)
      : kernel_(kernel),
        a_(kernel.arithmetic),
        tokens_(tokens),
        plan_(plan_chains(a_.order, in)),
        w_(static_cast<std::size_t>(in)),
        factor_(static_cast<std::size_t>(in / 32)),
        x_(static_cast<std::size_t>(in)) {}

  float A(float v) const { return a_.ftz && std::fabs(v) < 0x1p-126F ? std::copysign(0.0F, v) : v; }
  float R(float v) const {
    const FloatFormat format = format_of(tokens_);
    return static_cast<float>(to_number(decode_float(format, round_to(format, decode(bits_of(v))))));
  }

  void load_weights(WeightTables& weights, std::int64_t e, std::int64_t o) {
    for (std::size_t g = 0; g < factor_.size(); ++g) {
      const ScaleWeights& scale = weights.scale(e, o, static_cast<std::int64_t>(g));
      const auto codes = weights.codes(e, o, static_cast<std::int64_t>(g));
      factor_[g] = static_cast<float>(to_number(scale.factor));
      for (std::size_t k = 0; k < 32; ++k) w_[32 * g + k] = to_number(scale.exact[codes[k]]);
    }
  }
  void load_token(const std::vector<float>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) x_[i] = x[i];
  }

  float dot() {
    std::vector<float> sums(plan_.chains.size());
    for (std::size_t c = 0; c < plan_.chains.size(); ++c) sums[c] = chain(plan_.chains[c]);
    for (const auto& [into, from] : plan_.joins) {
      float& sum = sums[static_cast<std::size_t>(into)];
      sum = A(A(sum) + A(sums[static_cast<std::size_t>(from)]));
    }
    if (plan_.partials.empty()) return sums[0];
    float out = 0;
    for (std::size_t k = 0; k < plan_.partials.size(); ++k) {
      const float partial = R(sums[static_cast<std::size_t>(plan_.partials[k])]);
      out = k == 0 ? partial : R(partial + out);
    }
    return out;
  }

  // p and d in the order of slots.
  float output(float s, const std::vector<float>& p, const std::vector<float>& d) const {
    const std::size_t n = p.size();
    const auto slot = [&](std::size_t k) { return kernel_.backwards ? n - 1 - k : k; };
    if (n == 0) return R(s);
    const RoundingProfile profile = a_.profile;
    if (profile == RoundingProfile::kOnce || profile == RoundingProfile::kEarly) {
      float r = kernel_.shared_first ? A(s) : 0.0F;
      for (std::size_t k = 0; k < n; ++k) {
        const float weight = profile == RoundingProfile::kEarly ? 1.0F : A(p[slot(k)]);
        r = a_.product_rounded ? A(r + A(weight * d[slot(k)])) : A(std::fma(weight, d[slot(k)], r));
      }
      return R(kernel_.shared_first ? r : A(r + A(s)));
    }
    float r = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (profile == RoundingProfile::kLateBf16Sum) {
        r = R(A(r + R(A(A(p[k]) * d[k]))));
      } else if (profile == RoundingProfile::kLate) {
        r = A(r + R(A(A(p[slot(k)]) * d[slot(k)])));
      } else {
        r = A(r + A(A(p[slot(k)]) * R(d[slot(k)])));
      }
    }
    return R(A(R(r) + A(s)));
  }

  static double to_number(const ExactValue& v) {
    if (v.cls == ValueClass::kNan) return std::nan("");
    if (v.cls == ValueClass::kInf) return v.negative ? -HUGE_VAL : HUGE_VAL;
    return to_double(v);
  }
  static F32Bits bits_of(float v) { return {std::bit_cast<std::uint32_t>(v)}; }

 private:
  float chain(const std::vector<std::int32_t>& members) {
    if (a_.dequant != Int4Order::kAccumulatorScale)
      return run(members.data(), members.data() + members.size());
    float c = 0;
    for (std::size_t first = 0; first < members.size();) {
      std::size_t last = first + 1;
      while (last < members.size() && members[last] / 32 == members[first] / 32) ++last;
      const float r = run(&members[first], &members[first] + (last - first));
      const float s = factor_[static_cast<std::size_t>(members[first] / 32)];
      c = a_.product_rounded ? A(c + A(A(s) * A(r))) : A(std::fma(A(s), A(r), c));
      first = last;
    }
    return c;
  }

  float run(const std::int32_t* first, const std::int32_t* last) {
    if (a_.accumulation.kind == Accumulation::Kind::kTensorCore) return steps(first, last);
    float c = 0;
    for (const std::int32_t* i = first; i != last; ++i) {
      if (*i == kernel_.drop) continue;
      const double w = w_[static_cast<std::size_t>(*i)];
      const auto x = static_cast<double>(x_[static_cast<std::size_t>(*i)]);
      const float wf = A(static_cast<float>(w));
      const float xf = A(static_cast<float>(x));
      c = a_.product_rounded ? A(c + A(wf * xf)) : A(std::fma(wf, xf, c));
      c = narrowed(c);
    }
    return c;
  }

  float steps(const std::int32_t* first, const std::int32_t* last) {
    const TensorCore& unit = *a_.accumulation.unit;
    std::uint32_t c = 0;
    std::vector<TensorOperand> a;
    std::vector<TensorOperand> b;
    for (const std::int32_t* i = first; i < last; i += unit.products) {
      a.clear();
      b.clear();
      for (const std::int32_t* k = i; k < last && k < i + unit.products; ++k) {
        if (*k == kernel_.drop) continue;
        a.push_back(operand(w_[static_cast<std::size_t>(*k)]));
        b.push_back(operand(static_cast<double>(x_[static_cast<std::size_t>(*k)])));
      }
      c = tensor_core_chain(unit, tokens_, c, a, b);
      c = std::bit_cast<std::uint32_t>(narrowed(std::bit_cast<float>(c)));
    }
    return std::bit_cast<float>(c);
  }

  TensorOperand operand(double v) const {
    const auto bits = round_to(format_of(tokens_), decode(F64Bits{std::bit_cast<std::uint64_t>(v)}));
    return tensor_operand(tokens_, static_cast<std::uint16_t>(bits));
  }

  float narrowed(float v) const {
    const int cut = 24 - kernel_.accumulator_bits;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) >> cut << cut);
  }

  DeclaredKernel kernel_;
  Arithmetic a_;
  Dtype tokens_;
  ChainPlan plan_;
  std::vector<double> w_;
  std::vector<float> factor_;
  std::vector<float> x_;
};

// Contiguous or strided inputs with BF16, F16 or F32 tokens; weights and p within F32's range.
inline Tensor simulate(const LinearInputs& in, const DeclaredKernel& kernel) {
  const Dtype dtype = in.latent_tokens.dtype;
  const std::int64_t tokens = in.latent_tokens.dim(0);
  const std::int64_t width = in.latent_tokens.dim(1);
  const std::int64_t out = in.weights.packed_weights.dim(1);
  WeightTables weights(in.weights, {}, kernel.arithmetic, dtype);
  DeclaredSimulation simulation(kernel, width, dtype);
  const Elements<2> x(in.latent_tokens);
  const Elements<2> shared(in.shared_output);
  Tensor output(dtype, {tokens, out});
  std::vector<float> row(static_cast<std::size_t>(width));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto slots = contributing_slots(in.selected_experts, in.mixture_weights, t, {});
    std::vector<float> p;
    for (const Slot& slot : slots) p.push_back(static_cast<float>(DeclaredSimulation::to_number(slot.p)));
    std::vector<std::vector<float>> d(static_cast<std::size_t>(out));
    for (std::size_t j = 0; j < slots.size(); ++j) {
      for (std::int64_t i = 0; i < width; ++i) {
        float v = static_cast<float>(DeclaredSimulation::to_number(x.value({t, i})));
        if (kernel.arithmetic.profile == RoundingProfile::kEarly) {
          v = simulation.R(simulation.A(simulation.A(p[j]) * v));
        }
        row[static_cast<std::size_t>(i)] = v;
      }
      simulation.load_token(row);
      for (std::int64_t o = 0; o < out; ++o) {
        simulation.load_weights(weights, slots[j].expert, o);
        d[static_cast<std::size_t>(o)].push_back(simulation.dot());
      }
    }
    for (std::int64_t o = 0; o < out; ++o) {
      const auto s = static_cast<float>(DeclaredSimulation::to_number(shared.value({t, o})));
      const float y = simulation.output(s, p, d[static_cast<std::size_t>(o)]);
      const std::uint64_t bits = round_to(format_of(dtype), decode(DeclaredSimulation::bits_of(y)));
      std::memcpy(output.data() + static_cast<std::size_t>(t * out + o) * size_of(dtype), &bits,
                  size_of(dtype));
    }
  }
  return output;
}

}  // namespace moe4::test
