#include "oracle/diagnose/read_back.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "oracle/case/output_rows.h"
#include "oracle/judge/encodings.h"
#include "reference/linear/expert_weights.h"

namespace moe4::oracle {
namespace {

constexpr std::size_t kShown = 6;

double to_double(const ExactValue& v) {
  if (!v.is_finite()) return std::nan("");
  const double size = std::ldexp(static_cast<double>(v.significand), v.exponent);
  return v.negative ? -size : size;
}

// The one element of the row's tokens that is not zero.
struct OneHot {
  std::int64_t in = 0;
  double x = 0;
};

std::optional<OneHot> one_hot(const CaseData& data, const Encodings& encodings, std::int64_t source) {
  const std::int64_t in = in_of(data);
  std::optional<OneHot> one;
  for (std::int64_t i = 0; i < in; ++i) {
    const std::uint64_t bits = encodings.load(data.latent_tokens, source * in + i);
    if (encodings.is_zero(bits)) continue;
    if (one || !encodings.is_finite(bits)) return std::nullopt;
    one = OneHot{i, encodings.number(bits)};
  }
  return one;
}

std::optional<Slot> one_slot(const OutputRow& row) {
  std::optional<Slot> one;
  for (const Slot& slot : row.slots) {
    if (slot.p.is_zero()) continue;
    if (one || !slot.p.is_finite()) return std::nullopt;
    one = slot;
  }
  return one;
}

bool shared_is_zero(const CaseData& data, std::int64_t index) {
  if (is_row_op(data.op)) return true;
  const Encodings encodings(data.shared_output.dtype());
  return encodings.is_zero(encodings.load(data.shared_output, index));
}

std::optional<int> power_of_two(double ratio) {
  int exponent = 0;
  if (!std::isfinite(ratio) || std::frexp(ratio, &exponent) != 0.5) return std::nullopt;
  return exponent - 1;
}

std::optional<unsigned> code_of(const WeightGroup& group, double value) {
  for (unsigned code = 0; code < 16; ++code) {
    if (to_double(group.value_of_code[code]) == value) return code;
  }
  return std::nullopt;
}

}  // namespace

ReadBack read_back(const CaseData& data, const Tensor& output) {
  ReadBack result;
  if (data.op == Op::kCombine) return result;
  const WeightReader reader(data.expert_weights(), data.policy);
  const Encodings tokens(data.latent_tokens.dtype());
  const Encodings outputs(output.dtype());
  const std::int64_t out = output_shape(data).out;
  for (const OutputRow& row : output_rows(data)) {
    const std::optional<OneHot> token = one_hot(data, tokens, row.source);
    const std::optional<Slot> slot = one_slot(row);
    if (!token || !slot) continue;
    for (std::int64_t o = 0; o < out; ++o) {
      if (!shared_is_zero(data, row.row * out + o)) continue;
      const WeightGroup group = reader.group(slot->expert, o, token->in / kGroupSize);
      ReadWeight weight;
      weight.expert = slot->expert;
      weight.out = o;
      weight.in = token->in;
      weight.code = group.code[static_cast<std::size_t>(token->in % kGroupSize)];
      weight.due = to_double(group.value_of_code[weight.code]);
      if (std::isnan(weight.due)) continue;  // so is the rest of its group: nothing is read by itself
      const double got = outputs.number(outputs.load(output, row.row * out + o));
      weight.read = got / (to_double(slot->p) * token->x);
      ++result.read;
      if (weight.read == weight.due) continue;
      weight.as = code_of(group, weight.read);
      weight.scaled_by = power_of_two(weight.read / weight.due);
      result.different.push_back(weight);
    }
  }
  const auto place = [](const ReadWeight& w) { return std::tuple(w.expert, w.out, w.in); };
  std::stable_sort(result.different.begin(), result.different.end(),
                   [&](const ReadWeight& a, const ReadWeight& b) { return place(a) < place(b); });
  return result;
}

std::string read_back_text(const ReadBack& weights) {
  if (weights.different.empty()) return "";
  std::string text = fmt::format("  read back, one weight an output: {} of {} weights differ\n",
                                 weights.different.size(), weights.read);
  std::set<int> factors;
  std::map<std::pair<unsigned, unsigned>, std::int64_t> steps;
  for (const ReadWeight& w : weights.different) {
    if (w.scaled_by) factors.insert(*w.scaled_by);
    if (w.as) ++steps[{w.code, *w.as}];
  }
  const auto all = [&](auto has) {
    return std::all_of(weights.different.begin(), weights.different.end(), has);
  };
  if (all([](const ReadWeight& w) { return w.scaled_by.has_value(); }) && factors.size() == 1) {
    text += fmt::format("    each is 2^{} times the right one: a scale\n", *factors.begin());
  } else if (all([](const ReadWeight& w) { return w.as.has_value(); })) {
    text += steps.size() == 1
                ? fmt::format("    each is the code 0x{:x} read as 0x{:x}, with the right scale\n",
                              steps.begin()->first.first, steps.begin()->first.second)
                : "    each is another code with the right scale\n";
  }
  for (std::size_t n = 0; n < weights.different.size() && n < kShown; ++n) {
    const ReadWeight& w = weights.different[n];
    text += fmt::format("    expert {}, row {}, column {}: code 0x{:x}, {:g}, read {:g}{}{}\n", w.expert,
                        w.out, w.in, w.code, w.due, w.read, w.as ? fmt::format(" (code 0x{:x})", *w.as) : "",
                        w.scaled_by ? fmt::format(" (times 2^{})", *w.scaled_by) : "");
  }
  if (weights.different.size() > kShown) {
    text += fmt::format("    (and {} more)\n", weights.different.size() - kShown);
  }
  return text;
}

}  // namespace moe4::oracle
