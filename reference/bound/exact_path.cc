#include "reference/bound/exact_path.h"

#include "reference/arithmetic/product.h"
#include "reference/profile/group_sum.h"

namespace moe4 {
namespace {

ExactValue rounded(const OutputSum& sum, const FloatFormat& format) {
  return decode_float(format, sum.round(format));
}

OutputSum product_of(const ExactTerm& term) {
  OutputSum v;
  v.add_product(term.p, term.d);
  return v;
}

}  // namespace

DotSum exact_dot(WeightTables& weights, const FlatPlan& plan, std::int64_t e, std::int64_t o,
                 std::span<const ExactValue> x) {
  std::vector<DotSum> slices(std::max<std::size_t>(plan.partials.size(), 1));
  std::vector<std::size_t> slice_of(x.size(), 0);
  if (!plan.partials.empty()) {
    for (std::size_t c = 0; c < plan.chains(); ++c) {
      const auto first =
          static_cast<std::size_t>(plan.run_begin[static_cast<std::size_t>(plan.chain_begin[c])]);
      const auto last =
          static_cast<std::size_t>(plan.run_begin[static_cast<std::size_t>(plan.chain_begin[c + 1])]);
      for (std::size_t p = first; p < last; ++p) {
        slice_of[static_cast<std::size_t>(plan.index[p])] = static_cast<std::size_t>(plan.slice_of_chain[c]);
      }
    }
  }
  for (std::size_t g = 0; g < x.size() / kGroupSize; ++g) {
    const ScaleWeights& scale = weights.scale(e, o, static_cast<std::int64_t>(g));
    const auto codes = weights.codes(e, o, static_cast<std::int64_t>(g));
    GroupSum group;
    for (std::size_t k = 0; k < kGroupSize; ++k) {
      const std::size_t i = g * kGroupSize + k;
      const ExactValue term = product(scale.exact[codes[k]], x[i]);
      if (weights.has_factors()) {
        group.add(term);
      } else {
        slices[slice_of[i]].add(term);
      }
    }
    // INT-10; a slice is whole groups (PRO-14, PRO-15).
    if (weights.has_factors()) slices[slice_of[g * kGroupSize]].add_product(scale.factor, group);
  }
  if (plan.partials.empty()) return slices[0];
  DotSum out;  // PRO-17
  for (std::size_t k = 0; k < slices.size(); ++k) {
    DotSum sum;
    sum.add(decode_float(kBF16, slices[k].round(kBF16)));
    if (k > 0) sum.add(decode_float(kBF16, out.round(kBF16)));
    out = sum;
  }
  DotSum result;
  result.add(decode_float(kBF16, out.round(kBF16)));
  return result;
}

ExactOutput exact_last_sum(RoundingProfile profile, Dtype output, const ExactValue& s,
                           std::span<const ExactTerm> terms) {
  const FloatFormat format = format_of(output);
  const bool minus_zero = terms.empty() && s.is_zero() && s.negative;  // LIN-7, PRO-4
  OutputSum sum;
  if (profile == RoundingProfile::kOnce || profile == RoundingProfile::kEarly || terms.empty()) {
    sum.add(s);
    for (const ExactTerm& term : terms) sum.add_product(term.p, term.d);
    return {sum, minus_zero};
  }
  for (const ExactTerm& term : terms) {
    if (profile == RoundingProfile::kHf) {
      DotSum v;
      v.add(decode_float(format, term.d.round(format)));
      sum.add_product(term.p, v);
      continue;
    }
    sum.add(rounded(product_of(term), format));
    if (profile == RoundingProfile::kLate) continue;
    OutputSum r;
    r.add(rounded(sum, format));
    sum = r;
  }
  OutputSum last;
  last.add(rounded(sum, format));
  last.add(s);
  return {last, false};
}

}  // namespace moe4
