#include "reference/bound/interval.h"

#include <cmath>

namespace moe4 {
namespace {

std::uint64_t rounded_sum(const ExactOutput& exact, double error, Dtype dtype) {
  ExactOutput end = exact;
  end.add_double(error);
  return end.round(dtype);
}

}  // namespace

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

// BND-11; the ends of an error without bound are the infinities.
OutputInterval interval(const ExactOutput& exact, const OutputBound& bound, double s, Dtype dtype,
                        const AccumulationFormat& format) {
  OutputInterval y;
  y.exact = exact.round(dtype);
  y.lo = y.exact;
  y.hi = y.exact;
  y.cls = class_of(exact.cls());
  const OutputBound::Result result = bound.finish(s, y.cls == OutputClass::kFinite, format);
  y.may_overflow = result.may_overflow;
  y.error = result.error;
  if (y.cls != OutputClass::kFinite || result.error == 0) return y;
  if (std::isfinite(result.error)) {
    y.lo = rounded_sum(exact, -result.error, dtype);
    y.hi = rounded_sum(exact, result.error, dtype);
  } else {
    y.hi = format_of(dtype).infinity();
    y.lo = y.hi | format_of(dtype).sign_bit();
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
