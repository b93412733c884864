#include "tests/support/slow_model/declared.h"

#include <algorithm>

#include "tests/support/slow_model/expert_linear.h"

namespace slow_model {
namespace {

using Accumulation = DeclaredArithmetic::Accumulation;

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }

const Generation& generation_of(const DeclaredArithmetic& arithmetic) {
  return generations()[arithmetic.generation];
}

// BND-1, PRO-1.
const FloatFormat& accumulator_for(const FloatFormat& format) { return format == kF64 ? kF64 : kF32; }

// PRO-19.
struct Word {
  std::string key;
  std::string value;
  std::string fallback;
};

std::vector<Word> words_of(const DeclaredArithmetic& a) {
  static constexpr const char* kProfiles[] = {"once", "late", "late_bf16_sum", "hf", "early"};
  std::string accumulation = generation_of(a).name;
  if (a.accumulation == Accumulation::kExact) accumulation = "exact";
  if (a.accumulation == Accumulation::kF32Sequential) accumulation = "f32_sequential";
  return {
      {"profile", kProfiles[static_cast<int>(a.profile)], "once"},
      {"order", text_of(a.order), "any"},
      {"accumulation", accumulation, "f32_sequential"},
      {"products", a.products_rounded ? "rounded" : "fma", "fma"},
      {"ftz", a.ftz ? "yes" : "no", "no"},
      {"weight", a.weight_bf16 ? "bf16" : "exact", "exact"},
      {"dequant", named_int4_orders()[static_cast<std::size_t>(a.dequant)].name, "norm"},
  };
}

bool refused_in_any_case(const DeclaredArithmetic& a) {
  return a.accumulation == Accumulation::kExact && (a.products_rounded || a.ftz);
}

bool refused_with_weights(const DeclaredArithmetic& a, const Layer& layer, const FloatFormat& tokens) {
  const bool int4 = layer.weights == WeightFormat::kInt4;
  if (refused_in_any_case(a)) return true;
  if (int4 ? a.weight_bf16 : a.dequant != Int4Order::kNorm) return true;
  if (a.accumulation == Accumulation::kTensorCore) {
    if (!(tokens == kF16) && !(tokens == kBf16 && generation_of(a).takes_bf16)) return true;
    if (a.products_rounded || a.dequant == Int4Order::kExactW) return true;
    if (a.weight_bf16 && tokens == kF16) return true;
  }
  if (a.order.slices == SumOrder::Slices::kStreamK) {
    if (!(tokens == kBf16) || a.order.n > 3) return true;
  }
  return false;
}

}  // namespace

std::string text_of(const DeclaredArithmetic& arithmetic) {
  std::string text;
  for (const Word& word : words_of(arithmetic)) {
    text += (text.empty() ? "" : " ") + word.key + "=" + word.value;
  }
  return text;
}

std::string short_text_of(const DeclaredArithmetic& arithmetic) {
  std::string text;
  for (const Word& word : words_of(arithmetic)) {
    if (word.value != word.fallback) text += (text.empty() ? "" : " ") + word.key + "=" + word.value;
  }
  return text;
}

bool refused(const DeclaredArithmetic& arithmetic, const Problem& problem) {
  return refused_with_weights(arithmetic, problem, problem.latent_tokens.format);
}

bool refused(const DeclaredArithmetic& arithmetic, const RowsProblem& problem) {
  return refused_with_weights(arithmetic, problem, kBf16);
}

bool refused_for_combine(const DeclaredArithmetic& arithmetic) {
  return refused_in_any_case(arithmetic) || arithmetic.profile == Profile::kEarly;
}

Ieee Declared::accumulated(const FloatFormat& accumulator, const Ieee& v) const {
  if (exact()) return {v.value, false};
  const Ieee result = rounded(accumulator, v);
  return arithmetic_.ftz && accumulator == kF32 ? flushed(result) : result;
}

Ieee Declared::operand(const FloatFormat& accumulator, const Ieee& v) const {
  return arithmetic_.ftz && accumulator == kF32 ? flushed(v) : v;
}

Ieee Declared::sum(const FloatFormat& accumulator, const Ieee& a, const Ieee& b) const {
  return accumulated(accumulator, operand(accumulator, a) + operand(accumulator, b));
}

Ieee Declared::product(const FloatFormat& accumulator, const Ieee& a, const Ieee& b) const {
  return accumulated(accumulator, operand(accumulator, a) * operand(accumulator, b));
}

Ieee Declared::multiply_add(const FloatFormat& accumulator, const Ieee& c, const Ieee& a,
                            const Ieee& b) const {
  if (arithmetic_.products_rounded) return sum(accumulator, c, product(accumulator, a, b));
  return accumulated(accumulator,
                     operand(accumulator, c) + operand(accumulator, a) * operand(accumulator, b));
}

Ieee Declared::weight(const Layer& layer, std::int64_t expert, std::int64_t o, std::int64_t i,
                      Ieee& factor) const {
  const std::size_t group = index((expert * layer.out + o) * layer.groups + i / 32);
  factor = ieee(ShortNumber::integer(1));
  if (layer.weights == WeightFormat::kInt4) {
    const int code = int4_code_at(layer.word_row(expert, o), i);
    const Int4Term term = int4_term(arithmetic_.dequant, code, short_value_of(kBf16, layer.scales[group]));
    factor = ieee(term.factor);
    return ieee(term.weight);
  }
  const int code = code_at(layer.packed_row(expert, o), i);
  Ieee w{weight_of(code, layer.scale_bytes[group], layer.policy.scale_nan, layer.policy.scale_zero), false};
  w.minus_zero = w.is_zero() && code >= 8;
  return arithmetic_.weight_bf16 ? rounded(kBf16, w) : w;  // PRO-12
}

const TensorStep& Declared::tensor_step() const {
  static const TensorStep kStep;
  return kStep;
}

// Indices of one group, or of any where the factors are 1: ACC-3, ACC-7.
Ieee Declared::run(const Dot& dot, const std::vector<std::int64_t>& indices) const {
  if (arithmetic_.accumulation == Accumulation::kTensorCore) {
    std::vector<std::uint64_t> w;
    std::vector<std::uint64_t> x;
    for (const std::int64_t i : indices) {
      w.push_back(encoded(dot.format, dot.w[index(i)]));  // ACC-6
      x.push_back(encoded(dot.format, dot.x[index(i)]));
    }
    return ieee(kF32, tensor_step().chain(generation_of(arithmetic_), dot.format, w, x));
  }
  const FloatFormat& accumulator = accumulator_for(dot.format);
  Ieee c;
  for (const std::int64_t i : indices) c = multiply_add(accumulator, c, dot.w[index(i)], dot.x[index(i)]);
  return c;
}

Ieee Declared::chain(const Dot& dot, const std::vector<std::int64_t>& indices) const {
  if (arithmetic_.dequant != Int4Order::kAccumulatorScale) return run(dot, indices);
  const FloatFormat& accumulator = accumulator_for(dot.format);
  Ieee c;
  for (auto first = indices.begin(); first != indices.end();) {  // ACC-16
    const std::int64_t group = *first / 32;
    const auto end = std::find_if(first, indices.end(), [&](std::int64_t i) { return i / 32 != group; });
    const Ieee r = run(dot, std::vector<std::int64_t>(first, end));
    c = multiply_add(accumulator, c, dot.factor[index(*first)], r);
    first = end;
  }
  return c;
}

// ACC-2 and INT-10: groups in place of runs, so that the order has no meaning.
Ieee Declared::exact_sum(const Dot& dot, const Accumulators& accumulators) const {
  std::vector<Extended> groups(dot.w.size() / 32);
  std::vector<bool> present(groups.size(), false);
  Extended sum;
  for (const std::vector<std::int64_t>& indices : accumulators.chains) {
    for (const std::int64_t i : indices) {
      const Extended term = dot.w[index(i)].value * dot.x[index(i)].value;
      groups[index(i / 32)] = groups[index(i / 32)] + term;
      present[index(i / 32)] = true;
    }
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (present[g]) sum = sum + dot.factor[32 * g].value * groups[g];
  }
  return {sum, false};
}

Ieee Declared::slice(const Dot& dot, const Accumulators& accumulators) const {
  if (exact()) return exact_sum(dot, accumulators);
  const FloatFormat& accumulator = accumulator_for(dot.format);
  std::vector<Ieee> held;
  std::vector<bool> empty;
  for (const std::vector<std::int64_t>& indices : accumulators.chains) {
    held.push_back(chain(dot, indices));
    empty.push_back(indices.empty());
  }
  for (const auto& [into, from] : accumulators.joins) {
    if (empty[into] || empty[from]) continue;  // BND-3: left out
    held[into] = sum(accumulator, held[into], held[from]);
  }
  return held.front();
}

Ieee Declared::streamed(const std::vector<Ieee>& slices) const {
  Ieee out = rounded(kBf16, slices.back());
  for (std::size_t before = slices.size() - 1; before > 0; --before) {  // PRO-17
    out = rounded(kBf16, rounded(kBf16, slices[before - 1]) + out);
  }
  return out;
}

Ieee Declared::joined(const Dot& dot, const std::vector<Ieee>& slices) const {
  if (arithmetic_.order.slices == SumOrder::Slices::kStreamK) {
    const Ieee d = streamed(slices);
    return exact() ? Ieee{d.value, false} : d;  // PRO-21
  }
  Ieee result = slices.front();
  for (std::size_t next = 1; next < slices.size(); ++next) {
    result = sum(accumulator_for(dot.format), result, slices[next]);
  }
  return result;
}

Ieee Declared::dot_product(const Dot& dot) const {
  std::vector<Ieee> slices;
  for (const Accumulators& accumulators :
       plan_of(arithmetic_.order, static_cast<std::int64_t>(dot.w.size()))) {
    slices.push_back(slice(dot, accumulators));
  }
  return joined(dot, slices);
}

Declared::Dot Declared::dot_of_row(const Layer& layer, std::int64_t expert, std::int64_t o) const {
  Dot dot;
  dot.factor.resize(index(layer.in()));
  for (std::int64_t i = 0; i < layer.in(); ++i) {
    dot.w.push_back(weight(layer, expert, o, i, dot.factor[index(i)]));
  }
  return dot;
}

Ieee Declared::token_times_p(const FloatFormat& format, const Ieee& p, const Ieee& x) const {
  return rounded(format, product(accumulator_for(format), p, x));  // PRO-9
}

std::uint64_t Declared::output(const FloatFormat& format, const Ieee& shared, const Numbers& p,
                               const Numbers& d, bool rows) const {
  const FloatFormat& accumulator = accumulator_for(format);
  const auto a = [&](const Ieee& left, const Ieee& right) { return sum(accumulator, left, right); };
  Ieee r;
  switch (arithmetic_.profile) {
    case Profile::kOnce:
      r = a(shared, Ieee());
      for (std::size_t j = 0; j < d.size(); ++j) r = multiply_add(accumulator, r, p[j], d[j]);
      return encoded(format, r);
    case Profile::kLate:
      for (std::size_t j = 0; j < d.size(); ++j) {
        r = a(r, rounded(format, product(accumulator, p[j], d[j])));
      }
      return encoded(format, a(rounded(format, r), shared));
    case Profile::kLateBf16Sum:
      for (std::size_t j = 0; j < d.size(); ++j) {
        r = rounded(format, a(r, rounded(format, product(accumulator, p[j], d[j]))));
      }
      return encoded(format, a(r, shared));
    case Profile::kHf:
      for (std::size_t j = 0; j < d.size(); ++j) {
        r = a(r, product(accumulator, p[j], rows ? d[j] : rounded(format, d[j])));
      }
      return encoded(format, a(rounded(format, r), shared));
    case Profile::kEarly:
      r = a(shared, Ieee());
      for (std::size_t j = 0; j < d.size(); ++j) r = a(r, d[j]);
      return encoded(format, r);
  }
  return 0;
}

std::vector<std::uint64_t> Declared::expert_linear(const Problem& problem) const {
  const FloatFormat& format = problem.output_format();
  const FloatFormat& accumulator = accumulator_for(format);
  const FloatTensor& mixture = problem.mixture_weights;
  std::vector<std::uint64_t> result;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    const std::vector<std::int64_t> slots = ExpertLinear().slots(problem, t);
    for (std::int64_t o = 0; o < problem.out; ++o) {
      const std::uint64_t s = problem.shared_output.bits[index(t * problem.out + o)];
      const Ieee shared = ieee(problem.shared_output.format, s);
      if (slots.empty()) {
        result.push_back(encoded(format, shared));  // PRO-4
        continue;
      }
      Numbers p;
      Numbers d;
      for (const std::int64_t slot : slots) {
        const std::size_t at = index(t * problem.top_k + slot);
        p.push_back(accumulated(accumulator, ieee(mixture.format, mixture.bits[at])));
        Dot dot = dot_of_row(problem, problem.selected_experts[at], o);
        dot.format = format;
        for (std::int64_t i = 0; i < problem.in(); ++i) {
          const Ieee x = ieee(format, problem.latent_tokens.bits[index(t * problem.in() + i)]);
          dot.x.push_back(arithmetic_.profile == Profile::kEarly ? token_times_p(format, p.back(), x) : x);
        }
        d.push_back(dot_product(dot));
      }
      result.push_back(output(format, accumulated(accumulator, shared), p, d, /*rows=*/false));
    }
  }
  return result;
}

RowsOutcome Declared::rows(const RowsProblem& problem, std::uint64_t before) const {
  RowsOutcome result;
  result.output.assign(index(problem.rows() * problem.out), before);
  result.written.assign(index(problem.rows()), 0);
  for (const RoutedRow& routed : Rows().routed_rows(problem)) {
    result.written[index(routed.row)] = 1;
    for (std::int64_t o = 0; o < problem.out; ++o) {
      Dot dot = dot_of_row(problem, routed.expert, o);
      dot.format = kBf16;
      for (std::int64_t i = 0; i < problem.in(); ++i) {
        dot.x.push_back(ieee(kBf16, problem.latent_tokens[index(routed.source * problem.in() + i)]));
      }
      result.output[index(routed.row * problem.out + o)] = encoded(kBf16, dot_product(dot));  // PRO-10
    }
  }
  return result;
}

std::vector<std::uint64_t> Declared::combine(const CombineProblem& problem) const {
  const FloatFormat& format = problem.output_format;
  const FloatFormat& accumulator = accumulator_for(format);
  const FloatTensor& mixture = problem.mixture_weights;
  std::vector<std::uint64_t> result;
  for (std::int64_t t = 0; t < problem.tokens; ++t) {
    const std::vector<std::int64_t> slots = Combine().slots(problem, t);
    for (std::int64_t o = 0; o < problem.out; ++o) {
      const std::uint64_t s = problem.shared_output.bits[index(t * problem.out + o)];
      const Ieee shared = ieee(problem.shared_output.format, s);
      Numbers p;
      Numbers d;
      for (const std::int64_t slot : slots) {
        const std::int64_t at = t * problem.top_k + slot;
        p.push_back(accumulated(accumulator, ieee(mixture.format, mixture.bits[index(at)])));
        d.push_back(ieee(kBf16, problem.rows[index(at * problem.out + o)]));
      }
      result.push_back(slots.empty() ? encoded(format, shared)
                                     : output(format, accumulated(accumulator, shared), p, d, /*rows=*/true));
    }
  }
  return result;
}

}  // namespace slow_model
