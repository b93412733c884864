#include "oracle/judge/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "oracle/case/output_rows.h"
#include "oracle/judge/weight_steps.h"
#include "reference/formats/elements.h"
#include "reference/formats/packed_codes.h"

namespace moe4::oracle {
namespace {

using Pairs = std::array<std::uint16_t, 256>;  // by scale byte: a bit a code
constexpr std::uint16_t kAllCodes = 0xFFFF;
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 14;  // outputs

double to_double(const ExactValue& v) { return std::ldexp(static_cast<double>(v.significand), v.exponent); }

// The activations of a row in magnitude, and its slots.
struct RowView {
  std::vector<double> x;
  std::vector<double> group_largest;
  const std::vector<Slot>& slots;
  bool finite = true;

  RowView(const CaseData& data, const OutputRow& row) : slots(row.slots) {
    const std::int64_t in = in_of(data);
    const FloatFormat format = format_of(data.latent_tokens.dtype());
    const Encodings encodings(data.latent_tokens.dtype());
    x.resize(static_cast<std::size_t>(in));
    group_largest.resize(static_cast<std::size_t>(in / kGroupSize), 0.0);
    for (std::int64_t i = 0; i < in; ++i) {
      const ExactValue value = decode_float(format, encodings.load(data.latent_tokens, row.source * in + i));
      finite = finite && value.is_finite();
      if (!value.is_finite()) continue;
      const double size = to_double(value);
      x[static_cast<std::size_t>(i)] = size;
      double& largest = group_largest[static_cast<std::size_t>(i / kGroupSize)];
      largest = std::max(largest, size);
    }
    for (const Slot& slot : slots) finite = finite && slot.p.is_finite();
  }
};

class Cover {
 public:
  explicit Cover(const CaseData& data)
      : steps_(data), out_(data.scale_tensor().dim(1)), groups_(data.scale_tensor().dim(2)) {}

  // VER-10: every pair of the rows behind output o whose least step is more than `needed`.
  void finite_output(const RowView& row, std::int64_t o, double needed, Pairs& pairs) const {
    std::array<std::uint8_t, 32> codes;
    GroupSteps scratch;
    for (const Slot& slot : row.slots) {
      const double limit = needed / to_double(slot.p);  // p = 0: nothing is seen through it
      if (!(limit < std::numeric_limits<double>::infinity())) continue;
      const std::int64_t at = slot.expert * out_ + o;
      for (std::int64_t g = 0; g < groups_; ++g) {
        std::uint16_t& seen = pairs[steps_.key(at, g)];
        if (seen == kAllCodes) continue;
        const GroupSteps& steps = steps_.group(at, g, scratch);
        if (!(row.group_largest[static_cast<std::size_t>(g)] * steps.largest > limit)) continue;
        const double* x = row.x.data() + g * kGroupSize;
        steps_.codes(at, g, codes);
        for (std::size_t k = 0; k < codes.size(); ++k) {
          if (x[k] * steps.of_code[codes[k]] > limit)
            seen = static_cast<std::uint16_t>(seen | (1U << codes[k]));
        }
      }
    }
  }

  // VER-11: the one group whose scale is no number behind an output whose other operands are finite.
  void nonfinite_output(const RowView& row, std::int64_t o, Pairs& pairs) const {
    if (!row.finite || !steps_.is_nonfinite(255)) return;
    struct Place {
      std::int64_t row, g;
    };
    std::optional<Place> only;
    for (const Slot& slot : row.slots) {
      const std::int64_t at = slot.expert * out_ + o;
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::uint8_t key = steps_.key(at, g);
        if (steps_.may_overflow(key)) return;
        if (!steps_.is_nonfinite(key)) continue;
        if (only && (only->row != at || only->g != g)) return;
        only = {at, g};
      }
    }
    if (!only) return;
    std::array<std::uint8_t, 32> codes;
    steps_.codes(only->row, only->g, codes);
    for (const std::uint8_t code : codes) pairs[255] = static_cast<std::uint16_t>(pairs[255] | (1U << code));
  }

 private:
  WeightSteps steps_;
  std::int64_t out_, groups_;
};

std::int64_t counted_outputs(const Due& due, const CompareRules& rules) {
  std::int64_t count = 0;
  for (std::size_t k = 0; k < due.outputs.size(); ++k) {
    count += due.counts(static_cast<std::int64_t>(k) / due.out) && is_counted(due.outputs[k], rules);
  }
  return count;
}

bool shared_is_finite(const CaseData& data, std::int64_t flat) {
  if (is_row_op(data.op)) return true;
  const Encodings encodings(data.shared_output.dtype());
  return encodings.is_finite(encodings.load(data.shared_output, flat));
}

}  // namespace

Coverage cover(const CaseData& data, const Due& due, bool bits_due, const CompareRules& rules) {
  Coverage coverage;
  coverage.outputs = counted_outputs(due, rules);
  if (data.op == Op::kCombine) return coverage;
  const Cover weights(data);
  const Encodings encodings(data.latent_tokens.dtype());
  const std::vector<OutputRow> rows = output_rows(data);

  Pairs all{};
#pragma omp parallel if (static_cast <std::int64_t>(rows.size()) * due.out >= kWorthThreads)
  {
    Pairs mine{};
#pragma omp for schedule(dynamic)
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const RowView row(data, rows[n]);
      for (std::int64_t o = 0; o < due.out; ++o) {
        const std::int64_t flat = rows[n].row * due.out + o;
        const OutputInterval& y = due.outputs[static_cast<std::size_t>(flat)];
        if (!is_counted(y, rules)) continue;
        if (y.cls != OutputClass::kFinite) {
          if (!y.may_overflow && shared_is_finite(data, flat)) weights.nonfinite_output(row, o, mine);
          continue;
        }
        if (y.may_overflow || !encodings.is_finite(y.lo) || !encodings.is_finite(y.hi)) continue;
        const double ulp = std::max(encodings.ulp(y.lo), encodings.ulp(y.hi));
        weights.finite_output(row, o, bits_due ? ulp : 1.5 * (2 * y.error + ulp), mine);
      }
    }
#pragma omp critical
    for (std::size_t byte = 0; byte < all.size(); ++byte) {
      all[byte] = static_cast<std::uint16_t>(all[byte] | mine[byte]);
    }
  }
  Coverage::Pairs& pairs = coverage.of(data.weights);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t code = 0; code < 16; ++code) {
      if ((all[byte] >> code & 1) != 0) pairs.set(code * 256 + byte);
    }
  }
  return coverage;
}

}  // namespace moe4::oracle
