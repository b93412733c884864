// The same operations with the accumulation `exact`: none of them rounds (ACC-2, PRO-1), and an intermediate
// zero has no sign (PRO-21).
#pragma once

#include <cstdint>

#include "reference/accumulate/exact_widths.h"
#include "reference/formats/float_format.h"
#include "reference/formats/int4.h"

namespace moe4 {

class ExactOps {
 public:
  using Number = OutputSum;
  using Dot = DotSum;

  OutputSum of(const ExactValue& v) const {
    OutputSum sum;
    sum.add(v);
    return sum;
  }
  DotSum dot_of(const ExactValue& v) const {
    DotSum sum;
    sum.add(v);
    return sum;
  }
  OutputSum of_dot(const DotSum& d) const { return product(integer_value(1), d); }
  OutputSum zero() const { return {}; }

  OutputSum add(const OutputSum& a, const OutputSum& b) const {
    OutputSum sum = a;
    sum.add_product(integer_value(1), b);
    return sum;
  }
  DotSum add(const DotSum& a, const DotSum& b) const {
    DotSum sum = a;
    sum.add_product(integer_value(1), b);
    return sum;
  }
  OutputSum product(const ExactValue& p, const DotSum& d) const { return add_product({}, p, d); }
  OutputSum add_product(OutputSum r, const ExactValue& p, const DotSum& d) const {
    r.add_product(p, d);
    return r;
  }

  std::uint64_t round(const FloatFormat& format, const OutputSum& v) const { return v.round(format); }
  std::uint64_t round_dot(const FloatFormat& format, const DotSum& d) const { return d.round(format); }
};

}  // namespace moe4
