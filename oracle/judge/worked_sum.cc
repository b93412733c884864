#include "oracle/judge/worked_sum.h"

#include <fmt/format.h>

#include <cmath>

#include "oracle/case/output_rows.h"
#include "oracle/judge/encodings.h"
#include "reference/linear/expert_weights.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kMostTerms = 32;

double to_double(const ExactValue& v) {
  if (v.cls == ValueClass::kNan) return std::nan("");
  const double size = v.is_finite() ? std::ldexp(static_cast<double>(v.significand), v.exponent) : HUGE_VAL;
  return v.negative ? -size : size;
}

struct Term {
  std::int64_t in;
  unsigned code;
  std::uint64_t scale, token;
  double w, x;
};

// The terms of one slot that are not zero.
std::vector<Term> terms_of(const CaseData& data, const OutputRow& row, const Slot& slot, std::int64_t out) {
  const WeightReader reader(data.expert_weights(), data.policy);
  const Encodings encodings(data.latent_tokens.dtype());
  const FloatFormat format = format_of(data.latent_tokens.dtype());
  const std::int64_t in = in_of(data);
  std::vector<Term> terms;
  for (std::int64_t g = 0; g < in / kGroupSize && terms.size() <= kMostTerms; ++g) {
    const WeightGroup group = reader.group(slot.expert, out, g);
    for (int l = 0; l < kGroupSize; ++l) {
      const std::int64_t i = g * kGroupSize + l;
      const std::uint64_t token = encodings.load(data.latent_tokens, row.source * in + i);
      const double w = to_double(group[l]);
      const double x = to_double(decode_float(format, token));
      if (w * x == 0) continue;
      terms.push_back(
          {i, group.code[static_cast<std::size_t>(l)], reader.scale_bits(slot.expert, out, g), token, w, x});
    }
  }
  return terms;
}

}  // namespace

std::string worked_sum(const CaseData& data, const Mismatch& output) {
  if (data.op == Op::kCombine) return "";
  const Encodings encodings(data.latent_tokens.dtype());
  std::string text;
  std::size_t count = 0;
  double sum = 0;
  for (const OutputRow& row : output_rows(data)) {
    if (row.row != output.row) continue;
    for (const Slot& slot : row.slots) {
      const std::vector<Term> terms = terms_of(data, row, slot, output.out);
      const double p = to_double(slot.p);
      if (terms.empty() || p == 0) continue;
      count += terms.size();
      if (count > kMostTerms) return "";
      double dot = 0;
      for (const Term& t : terms) {
        dot += t.w * t.x;
        text += fmt::format("    {:>6}  0x{:x}   0x{:02x}  {:>13.9g}  {:<24}  {:>13.9g}\n", t.in, t.code,
                            t.scale, t.w, encodings.text(t.token), t.w * t.x);
      }
      sum += p * dot;
      text += is_row_op(data.op)
                  ? fmt::format("    sum {:.9g}\n", dot)
                  : fmt::format("    sum {:.9g}, times p {:.9g} of slot {} (expert {}): {:.9g}\n", dot, p,
                                slot.j, slot.expert, p * dot);
    }
    if (!is_row_op(data.op)) {
      const std::int64_t at = row.row * output_shape(data).out + output.out;
      const Encodings shared(data.shared_output.dtype());
      const std::uint64_t bits = shared.load(data.shared_output, at);
      sum += shared.number(bits);
      text += fmt::format("    shared {}\n", shared.text(bits));
    }
  }
  if (count == 0) return "";
  return fmt::format("  worked out\n    {:>6}  code  scale {:>13}  {:<24}  {:>13}\n", "i", "weight", "token",
                     "product") +
         text + fmt::format("    together {:.9g}\n", sum);
}

}  // namespace moe4::oracle
