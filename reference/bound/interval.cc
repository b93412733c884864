#include "reference/bound/interval.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/directed.h"

namespace moe4 {
namespace {

std::uint64_t rounded_sum(const ExactOutput& exact, double error, Dtype dtype) {
  ExactOutput end = exact;
  end.add_double(error);
  return end.round(dtype);
}

OutputClass class_of(SumClass cls) {
  switch (cls) {
    case SumClass::kFinite:
      return OutputClass::kFinite;
    case SumClass::kNan:
      return OutputClass::kNan;
    case SumClass::kPlusInf:
      return OutputClass::kPlusInf;
    case SumClass::kMinusInf:
      return OutputClass::kMinusInf;
  }
  return OutputClass::kNan;
}

}  // namespace

OutputInterval interval(const IntervalCall& call, const LastSum& sum,
                        const std::function<ExactOutput()>& exact) {
  const FloatFormat format = format_of(call.output);
  OutputInterval y;
  y.error = std::max(sum.below, sum.above);
  y.may_overflow = sum.may_overflow && !call.exact_accumulation;
  if (!call.wide && call.finite_by_rule && std::isfinite(sum.exact)) {
    y.exact = encode_double(format, sum.exact);
    const bool known = sum.slack == 0 || (encode_double(format, sum.exact - sum.slack) == y.exact &&
                                          encode_double(format, sum.exact + sum.slack) == y.exact);
    if (!known) y.exact = exact().round(call.output);
    const bool due = call.exact_accumulation || (y.error == 0 && known);
    y.lo = due ? y.exact : encode_double(format, sum.lo);
    y.hi = due ? y.exact : encode_double(format, sum.hi);
    return y;
  }
  const ExactOutput sum_in_full = exact();
  y.exact = sum_in_full.round(call.output);
  y.lo = y.exact;
  y.hi = y.exact;
  y.cls = class_of(sum_in_full.cls());
  if (y.cls != OutputClass::kFinite || y.error == 0 || call.exact_accumulation) return y;
  if (!call.wide) {
    y.lo = encode_double(format, sum.lo);
    y.hi = encode_double(format, sum.hi);
  } else if (std::isfinite(y.error)) {
    y.lo = rounded_sum(sum_in_full, -sum.below, call.output);
    y.hi = rounded_sum(sum_in_full, sum.above, call.output);
  } else {  // the ends of an error without bound are the infinities
    y.hi = format.infinity();
    y.lo = y.hi | format.sign_bit();
  }
  return y;
}

void count_singletons(OutputBounds& bounds) {
  std::int64_t counted = 0;
  std::int64_t singletons = 0;
  for (std::int64_t row = 0; row < bounds.rows; ++row) {
    if (!bounds.written.empty() && bounds.written[static_cast<std::size_t>(row)] == 0) continue;
    counted += bounds.out;
    for (std::int64_t o = 0; o < bounds.out; ++o) {
      if (is_singleton(bounds.outputs[static_cast<std::size_t>(row * bounds.out + o)])) ++singletons;
    }
  }
  if (counted > 0) bounds.singleton_share = static_cast<double>(singletons) / static_cast<double>(counted);
}

}  // namespace moe4
