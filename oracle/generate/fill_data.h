// What a fill is: the numbers of every tensor but the ids, as functions of logical coordinates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "oracle/case/case.h"
#include "oracle/generate/random.h"
#include "reference/formats/exact_value.h"
#include "reference/formats/float_format.h"

namespace moe4::oracle {

inline constexpr std::int64_t kGroupSize = 32;

// Values are exact; they are rounded to the tensor's dtype when stored (DATA-6). A NaN's significand is its
// payload. Implementations are const and are called by many threads at once.
class FillData {
 public:
  virtual ~FillData() = default;

  virtual ExactValue token(std::int64_t t, std::int64_t i) const = 0;
  // Row (e, o): codes [I], one a byte; scales [G], E8M0 bytes or BF16 encodings.
  virtual void row(std::int64_t e, std::int64_t o, std::span<std::uint8_t> codes,
                   std::span<std::uint16_t> scales) const = 0;
  // The mixture weights of token t, [K].
  virtual void mixture(std::int64_t t, std::span<ExactValue> p) const = 0;
  virtual ExactValue shared(std::int64_t t, std::int64_t o) const = 0;
};

// What every fill starts from.
struct FillBase {
  explicit FillBase(const Case& c)
      : line(c),
        root(Key::from_seed(c.seed)(1 + static_cast<std::int64_t>(c.fill))),
        format(format_of(c.dtype)),
        half_range(c.dtype == Dtype::kF16),
        poison(c.routing == Routing::kPoison),
        int4(c.weights == WeightFormat::kInt4) {}

  Case line;
  Key root;            // DATA-2
  FloatFormat format;  // of the tokens and the output
  bool half_range;     // F16: 5 exponent bits, so a narrow choice of scale bytes
  bool poison;
  bool int4;

  // The exponent of the weight of one unit whose group has the scale byte (int4: exponent field) b: half a
  // code, or q = 1 (DATA-34).
  int unit_exponent(int b) const { return int4 ? b - 127 : b - 128; }
};

// (-1)^negative · significand · 2^exponent.
inline ExactValue number(bool negative, std::int64_t significand, int exponent) {
  return ExactValue::finite(negative, static_cast<std::uint64_t>(significand), exponent);
}

// A signed integer times 2^exponent.
inline ExactValue signed_number(std::int64_t value, int exponent) {
  return number(value < 0, value < 0 ? -value : value, exponent);
}

// The fill of the case, or an Error if it has no room under the case's dtype and scale window (DATA-12).
Result<std::unique_ptr<FillData>> make_fill(const Case& c);

std::unique_ptr<FillData> make_exact8_fill(const Case& c);
std::unique_ptr<FillData> make_exact24_fill(const Case& c);
std::unique_ptr<FillData> make_ties_fill(const Case& c);
std::unique_ptr<FillData> make_bits_fill(const Case& c);
std::unique_ptr<FillData> make_real_fill(const Case& c);
std::unique_ptr<FillData> make_positive_fill(const Case& c);
std::unique_ptr<FillData> make_cancel_fill(const Case& c);
std::unique_ptr<FillData> make_slab_cancel_fill(const Case& c);
std::unique_ptr<FillData> make_onehot_fill(const Case& c);
std::unique_ptr<FillData> make_subnormal_fill(const Case& c);
std::unique_ptr<FillData> make_nonfinite_fill(const Case& c);
std::unique_ptr<FillData> make_tall_pairs_fill(const Case& c);

}  // namespace moe4::oracle
