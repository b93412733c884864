// From the sums of the chains to a dot product: joins and stream-K partials (ACC-5, PRO-3, PRO-16, PRO-17).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/accumulate/exact_sum.h"
#include "reference/accumulate/order.h"
#include "reference/formats/float_format.h"
#include "reference/formats/packed_codes.h"

namespace moe4 {

// RNE_bf16(a + b) of two BF16 numbers; IEEE 754 for zeros.
inline std::uint64_t add_bf16(std::uint64_t a, std::uint64_t b) {
  const ExactValue left = decode_float(kBF16, a);
  const ExactValue right = decode_float(kBF16, b);
  if (left.is_zero() && right.is_zero()) return a & b;
  ExactSum<5, kBF16.lsb_exponent()> sum;
  sum.add(left);
  sum.add(right);
  return sum.round(kBF16);
}

// chain_sum(chain) is the sum of one chain.
template <class Ops, class ChainSum>
typename Ops::Dot plan_sum(const Ops& ops, const ChainPlan& plan, ChainSum chain_sum) {
  std::vector<typename Ops::Dot> sums;
  sums.reserve(plan.chains.size());
  for (const std::vector<std::int32_t>& chain : plan.chains) sums.push_back(chain_sum(chain));
  for (const auto& [into, from] : plan.joins) {
    auto& sum = sums[static_cast<std::size_t>(into)];
    sum = ops.add(sum, sums[static_cast<std::size_t>(from)]);
  }
  if (plan.partials.empty()) return sums[0];
  const auto partial = [&](std::size_t k) {
    return ops.round_dot(kBF16, sums[static_cast<std::size_t>(plan.partials[k])]);
  };
  std::uint64_t out = partial(0);
  for (std::size_t k = 1; k < plan.partials.size(); ++k) out = add_bf16(partial(k), out);
  return ops.dot_of(decode_float(kBF16, out));
}

// ACC-16: run(indices) for each longest stretch of a chain inside one group.
template <class Run>
void for_each_run(std::span<const std::int32_t> chain, Run run) {
  for (std::size_t begin = 0; begin < chain.size();) {
    std::size_t end = begin + 1;
    while (end < chain.size() && chain[end] / kGroupSize == chain[begin] / kGroupSize) ++end;
    run(chain.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace moe4
