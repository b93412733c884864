// Which rule of docs/spec/validation.md a call breaks first, in the order of that page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace slow_model {

struct TensorDescription {
  std::string dtype;  // "BF16", "U8", ...
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements; empty means contiguous
  std::uintptr_t address = 0;
};

struct CallDescription {
  TensorDescription latent_tokens;
  TensorDescription packed_weights;
  TensorDescription scale_bytes;
  TensorDescription selected_experts;
  TensorDescription mixture_weights;
  TensorDescription shared_output;
  TensorDescription output;
  std::vector<std::int64_t> ids;  // the values in selected_experts, row-major; empty if they can't be read
  bool absent_allowed = false;    // ids=absent
};

// "VAL-3", or "" for a call that breaks none.
std::string first_broken_rule(const CallDescription& call);

// The single rules, for other operations than expert_linear.
bool breaks_val_6(const TensorDescription& tensor);
// VAL-7, of tensors that keep VAL-6. The output is contiguous.
bool spans_overlap(const TensorDescription& input, const TensorDescription& output);
bool breaks_val_9(const TensorDescription& tensor);
// Whether a product of counts, none of them negative, is above 2^62.
bool above_2_62(const std::vector<std::int64_t>& factors);

}  // namespace slow_model
