// One input of op=expert_linear, as encodings: the tensors of docs/spec/linear.md and int4.md.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/slow_model/float_format.h"
#include "tests/support/slow_model/layer.h"

namespace slow_model {

struct FloatTensor {
  FloatFormat format = kBf16;
  std::vector<std::uint64_t> bits;
};

struct Problem : Layer {
  std::int64_t tokens = 0;  // T
  std::int64_t top_k = 0;   // K

  FloatTensor latent_tokens;                   // [T, 32 G]
  bool wide_ids = false;                       // selected_experts is I64, else I32
  std::vector<std::int64_t> selected_experts;  // [T, K]
  FloatTensor mixture_weights;                 // [T, K]
  FloatTensor shared_output;                   // [T, O]

  const FloatFormat& output_format() const { return latent_tokens.format; }
};

}  // namespace slow_model
