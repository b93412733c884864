// One input of op=expert_linear weights=mxfp4, as encodings: the tensors of docs/spec/linear.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/slow_model/float_format.h"
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

struct FloatTensor {
  FloatFormat format = kBf16;
  std::vector<std::uint64_t> bits;
};

struct Problem {
  std::int64_t tokens = 0;   // T
  std::int64_t experts = 0;  // E
  std::int64_t groups = 0;   // G
  std::int64_t out = 0;      // O
  std::int64_t top_k = 0;    // K

  FloatTensor latent_tokens;                   // [T, 32 G]
  std::vector<std::uint8_t> packed_weights;    // [E, O, G, 16]
  std::vector<std::uint8_t> scale_bytes;       // [E, O, G]
  bool wide_ids = false;                       // selected_experts is I64, else I32
  std::vector<std::int64_t> selected_experts;  // [T, K]
  FloatTensor mixture_weights;                 // [T, K]
  FloatTensor shared_output;                   // [T, O]
  Policy policy;

  std::int64_t in() const { return 32 * groups; }
  std::int64_t row_bytes() const { return 16 * groups; }
  const FloatFormat& output_format() const { return latent_tokens.format; }
  std::span<const std::uint8_t> packed_row(std::int64_t expert, std::int64_t o) const {
    const std::size_t start = static_cast<std::size_t>((expert * out + o) * row_bytes());
    return std::span(packed_weights).subspan(start, static_cast<std::size_t>(row_bytes()));
  }
};

}  // namespace slow_model
