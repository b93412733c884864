#include "oracle/judge/coverage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "reference/formats/elements.h"
#include "reference/formats/packed_codes.h"
#include "reference/linear/weight.h"
#include "reference/routing/slots.h"

namespace moe4::oracle {
namespace {

using Pairs = std::array<std::uint16_t, 256>;  // by scale byte: a bit a code
constexpr std::uint16_t kAllCodes = 0xFFFF;
constexpr std::int64_t kWorthThreads = std::int64_t{1} << 14;  // outputs

double to_double(const ExactValue& v) { return std::ldexp(static_cast<double>(v.significand), v.exponent); }

// VER-10: delta(c)·2^(b-127) under the policies, by scale byte and code; 0 where the pair is never covered
// so.
class Steps {
 public:
  explicit Steps(const Policy& policy) {
    for (int byte = 0; byte < 256; ++byte) {
      const E8M0Bits scale{static_cast<std::uint8_t>(byte)};
      const auto weights = weights_of_group(scale, policy);
      const bool flushed = byte == 0 && policy.scale_zero == ScaleZero::kFlush;
      for (std::uint8_t code = 0; code < 16; ++code) {
        if (!weights[1].is_finite()) continue;
        // A flushed group differs from an unflushed one by its codes' own values.
        const double halves = flushed ? kE2M1Halves[code & 7] : kStepHalves[code & 7];
        step_[byte][code] = std::ldexp(halves, byte - 128);
      }
      largest_[byte] = *std::max_element(step_[byte].begin(), step_[byte].end());
    }
  }

  double of(std::uint8_t byte, std::uint8_t code) const { return step_[byte][code]; }
  double largest(std::uint8_t byte) const { return largest_[byte]; }

 private:
  static constexpr std::array<double, 8> kStepHalves = {1, 1, 1, 1, 1, 2, 2, 4};
  std::array<std::array<double, 16>, 256> step_{};
  std::array<double, 256> largest_{};
};

// x[t,:] in magnitude, and the slots of t.
struct TokenView {
  std::vector<double> x;
  std::vector<double> group_largest;
  std::vector<Slot> slots;
  bool finite = true;

  TokenView(const CaseData& data, std::int64_t t)
      : slots(contributing_slots(data.selected_experts.view(), data.mixture_weights.view(), t, data.policy)) {
    const Elements<2> tokens(data.latent_tokens.view());
    const std::int64_t in = data.latent_tokens.dim(1);
    x.resize(static_cast<std::size_t>(in));
    group_largest.resize(static_cast<std::size_t>(in / kGroupSize), 0.0);
    for (std::int64_t i = 0; i < in; ++i) {
      const ExactValue value = tokens.value({t, i});
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
      : codes_(data.packed_weights.as<std::uint8_t>().data()),
        scales_(data.scale_bytes.as<std::uint8_t>().data()),
        out_(data.scale_bytes.dim(1)),
        groups_(data.scale_bytes.dim(2)),
        steps_(data.policy),
        byte_255_(!scale_value(kE8M0Nan, data.policy).is_finite()) {}

  // VER-10: every pair of the rows behind output o whose least step is more than `needed`.
  void finite_output(const TokenView& token, std::int64_t o, double needed, Pairs& pairs) const {
    for (const Slot& slot : token.slots) {
      const double limit = needed / to_double(slot.p);  // p = 0: nothing is seen through it
      if (!(limit < std::numeric_limits<double>::infinity())) continue;
      const std::int64_t first = (slot.expert * out_ + o) * groups_;
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::uint8_t byte = scales_[first + g];
        std::uint16_t& seen = pairs[byte];
        const double largest = token.group_largest[static_cast<std::size_t>(g)];
        if (seen == kAllCodes || !(largest * steps_.largest(byte) > limit)) continue;
        const double* x = token.x.data() + g * kGroupSize;
        const std::uint8_t* packed = codes_ + (first + g) * kGroupBytes;
        for (int k = 0; k < kGroupSize; ++k) {
          const std::uint8_t code = code_in_byte(packed[byte_of_element(k)], k).bits;
          if (x[k] * steps_.of(byte, code) > limit) seen = static_cast<std::uint16_t>(seen | (1U << code));
        }
      }
    }
  }

  // VER-11: the one group with byte 255 behind an output whose other operands are finite.
  void nonfinite_output(const TokenView& token, std::int64_t o, Pairs& pairs) const {
    if (!byte_255_ || !token.finite) return;
    std::optional<std::int64_t> only;
    for (const Slot& slot : token.slots) {
      const std::int64_t first = (slot.expert * out_ + o) * groups_;
      for (std::int64_t g = 0; g < groups_; ++g) {
        if (scales_[first + g] != kE8M0Nan.bits) continue;
        if (only && *only != first + g) return;
        only = first + g;
      }
    }
    if (!only) return;
    for (int k = 0; k < kGroupSize; ++k) {
      const std::uint8_t code = code_in_byte(codes_[*only * kGroupBytes + byte_of_element(k)], k).bits;
      pairs[255] = static_cast<std::uint16_t>(pairs[255] | (1U << code));
    }
  }

 private:
  const std::uint8_t* codes_;
  const std::uint8_t* scales_;
  std::int64_t out_, groups_;
  Steps steps_;
  bool byte_255_;
};

}  // namespace

Coverage cover(const CaseData& data, const std::vector<OutputInterval>& due, bool bits_due,
               const CompareRules& rules) {
  const Cover rows(data);
  const Encodings encodings(data.latent_tokens.dtype());
  const Elements<2> shared(data.shared_output.view());
  const std::int64_t tokens = data.latent_tokens.dim(0);
  const std::int64_t out = data.scale_bytes.dim(1);

  Pairs all{};
  std::int64_t outputs = 0;
#pragma omp parallel reduction(+ : outputs) if (tokens * out >= kWorthThreads)
  {
    Pairs mine{};
#pragma omp for schedule(dynamic)
    for (std::int64_t t = 0; t < tokens; ++t) {
      const TokenView token(data, t);
      for (std::int64_t o = 0; o < out; ++o) {
        const OutputInterval& y = due[static_cast<std::size_t>(t * out + o)];
        if (!is_counted(y, rules)) continue;
        ++outputs;
        if (y.cls != OutputClass::kFinite) {
          if (!y.may_overflow && shared.value({t, o}).is_finite()) rows.nonfinite_output(token, o, mine);
          continue;
        }
        if (y.may_overflow || !encodings.is_finite(y.lo) || !encodings.is_finite(y.hi)) continue;
        const double ulp = std::max(encodings.ulp(y.lo), encodings.ulp(y.hi));
        rows.finite_output(token, o, bits_due ? ulp : 1.5 * (2 * y.error + ulp), mine);
      }
    }
#pragma omp critical
    for (std::size_t byte = 0; byte < all.size(); ++byte) {
      all[byte] = static_cast<std::uint16_t>(all[byte] | mine[byte]);
    }
  }

  Coverage coverage;
  coverage.outputs = outputs;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    for (std::size_t code = 0; code < 16; ++code) {
      if ((all[byte] >> code & 1) != 0) coverage.pairs.set(code * 256 + byte);
    }
  }
  return coverage;
}

}  // namespace moe4::oracle
