// The weights of all experts in either format, as encodings, and the policies in force.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/slow_model/mxfp4.h"

namespace slow_model {

enum class ZeroCompare { kAny, kStrict };
enum class Ids { kError, kAbsent };
enum class SkipZeroP { kNo, kYes };

struct Policy {
  ScaleNan scale_nan = ScaleNan::kOcp;
  ScaleZero scale_zero = ScaleZero::kExact;
  ZeroCompare zero = ZeroCompare::kAny;  // concerns comparison only (COR-3)
  Ids ids = Ids::kError;
  SkipZeroP skip_zero_p = SkipZeroP::kNo;
};

enum class WeightFormat { kMxfp4, kInt4 };

struct Layer {
  std::int64_t experts = 0;  // E
  std::int64_t groups = 0;   // G
  std::int64_t out = 0;      // O

  WeightFormat weights = WeightFormat::kMxfp4;
  std::vector<std::uint8_t> packed_weights;  // mxfp4: [E, O, G, 16]
  std::vector<std::uint8_t> scale_bytes;     // mxfp4: [E, O, G]
  std::vector<std::uint32_t> packed_words;   // int4: [E, O, 4 G], the bits of the I32
  std::vector<std::uint16_t> scales;         // int4: [E, O, G], BF16
  Policy policy;
  std::uint64_t seed = 0;  // of a property's own choices about a drawn problem; stays when it is shrunk

  std::int64_t in() const { return 32 * groups; }
  std::int64_t row_bytes() const { return 16 * groups; }
  std::int64_t row_words() const { return 4 * groups; }
  std::span<const std::uint8_t> packed_row(std::int64_t expert, std::int64_t o) const {
    const std::size_t start = static_cast<std::size_t>((expert * out + o) * row_bytes());
    return std::span(packed_weights).subspan(start, static_cast<std::size_t>(row_bytes()));
  }
  std::span<const std::uint32_t> word_row(std::int64_t expert, std::int64_t o) const {
    const std::size_t start = static_cast<std::size_t>((expert * out + o) * row_words());
    return std::span(packed_words).subspan(start, static_cast<std::size_t>(row_words()));
  }
};

}  // namespace slow_model
