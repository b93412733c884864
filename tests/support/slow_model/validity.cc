#include "tests/support/slow_model/validity.h"

#include <algorithm>
#include <utility>

#include "tests/support/slow_model/dyadic.h"

namespace slow_model {
namespace {

using Shape = std::vector<std::int64_t>;

Dyadic integer(std::int64_t n) {
  return n < 0 ? -Dyadic::scaled(-static_cast<std::uint64_t>(n), 0)
               : Dyadic::scaled(static_cast<std::uint64_t>(n), 0);
}

std::int64_t bytes_an_element(const std::string& dtype) {
  if (dtype == "U8") return 1;
  if (dtype == "BF16" || dtype == "F16") return 2;
  if (dtype == "I32" || dtype == "F32") return 4;
  return 8;
}

bool is_one_of(const std::string& dtype, std::initializer_list<const char*> allowed) {
  return std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
}

bool is_float(const std::string& dtype) { return is_one_of(dtype, {"BF16", "F16", "F32", "F64"}); }

Dyadic element_count(const Shape& shape) {
  Dyadic count = integer(1);
  for (const std::int64_t n : shape) {
    count = count * integer(n);
  }
  return count;
}

Shape strides_of(const TensorDescription& tensor) {
  if (!tensor.strides.empty() || tensor.shape.empty()) {
    return tensor.strides;
  }
  Shape strides(tensor.shape.size(), 1);
  for (std::size_t axis = strides.size() - 1; axis > 0; --axis) {
    strides[axis - 1] = strides[axis] * tensor.shape[axis];
  }
  return strides;
}

}  // namespace

bool breaks_val_6(const TensorDescription& tensor) {
  const auto negative = [](std::int64_t n) { return n < 0; };
  if (std::any_of(tensor.shape.begin(), tensor.shape.end(), negative)) {
    return true;
  }
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size()) {
    return true;
  }
  const Dyadic count = element_count(tensor.shape);
  if (count > Dyadic::scaled(1, 62)) {
    return true;
  }
  if (count.is_zero()) {
    return false;
  }
  Dyadic reach = integer(1);  // elements from the lowest to the highest, both included
  if (tensor.strides.empty()) {
    reach = count;
  } else {
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      reach = reach + integer(tensor.shape[axis] - 1) * integer(tensor.strides[axis]).magnitude();
    }
  }
  return reach * integer(bytes_an_element(tensor.dtype)) >= Dyadic::scaled(1, 63);
}

// From the lowest byte to the highest, as integers of any size. Negative strides reach below the address.
bool spans_overlap(const TensorDescription& input, const TensorDescription& output) {
  if (input.address == 0 || output.address == 0) {
    return false;  // no bytes there: VAL-9 judges them
  }
  if (element_count(input.shape).is_zero() || element_count(output.shape).is_zero()) {
    return false;
  }
  const auto ends = [](const TensorDescription& tensor) {
    const Dyadic size = integer(bytes_an_element(tensor.dtype));
    Dyadic lowest = Dyadic::scaled(tensor.address, 0);
    Dyadic end = lowest + size;
    const Shape strides = strides_of(tensor);
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      const Dyadic reach = integer(tensor.shape[axis] - 1) * integer(strides[axis]) * size;
      (reach.sign() < 0 ? lowest : end) = (reach.sign() < 0 ? lowest : end) + reach;
    }
    return std::pair(lowest, end);
  };
  const auto [input_low, input_end] = ends(input);
  const auto [output_low, output_end] = ends(output);
  return input_low < output_end && output_low < input_end;
}

bool breaks_val_9(const TensorDescription& tensor) {
  return tensor.address == 0 && !element_count(tensor.shape).is_zero();
}

bool above_2_62(const std::vector<std::int64_t>& factors) {
  return element_count(factors) > Dyadic::scaled(1, 62);
}

std::string first_broken_rule(const CallDescription& call) {
  const TensorDescription* inputs[] = {&call.latent_tokens,    &call.packed_weights,  &call.scale_bytes,
                                       &call.selected_experts, &call.mixture_weights, &call.shared_output};
  const std::size_t ranks[] = {2, 4, 3, 2, 2, 2};
  for (int n = 0; n < 6; ++n) {
    if (inputs[n]->shape.size() != ranks[n]) return "VAL-1";
  }
  const bool dtypes_fit = is_float(call.latent_tokens.dtype) && call.packed_weights.dtype == "U8" &&
                          call.scale_bytes.dtype == "U8" &&
                          is_one_of(call.selected_experts.dtype, {"I32", "I64"}) &&
                          is_float(call.mixture_weights.dtype) && is_float(call.shared_output.dtype);
  if (!dtypes_fit) return "VAL-2";

  const std::int64_t tokens = call.latent_tokens.shape[0];
  const std::int64_t in = call.latent_tokens.shape[1];
  const std::int64_t experts = call.packed_weights.shape[0];
  const std::int64_t out = call.packed_weights.shape[1];
  const std::int64_t top_k = call.selected_experts.shape[1];
  if (in < 32 || in % 32 != 0) return "VAL-3";

  const bool shapes_agree = call.packed_weights.shape == Shape{experts, out, in / 32, 16} &&
                            call.scale_bytes.shape == Shape{experts, out, in / 32} &&
                            call.selected_experts.shape == Shape{tokens, top_k} &&
                            call.mixture_weights.shape == Shape{tokens, top_k} &&
                            call.shared_output.shape == Shape{tokens, out} &&
                            call.output.shape == Shape{tokens, out};
  if (!shapes_agree) return "VAL-4";
  if (call.output.dtype != call.latent_tokens.dtype || !call.output.strides.empty()) return "VAL-5";

  for (const TensorDescription* input : inputs) {
    if (breaks_val_6(*input)) return "VAL-6";
  }
  if (breaks_val_6(call.output)) return "VAL-6";
  if (above_2_62({in, top_k})) return "VAL-6";
  for (const TensorDescription* input : inputs) {
    if (spans_overlap(*input, call.output)) return "VAL-7";
  }
  for (const std::int64_t id : call.ids) {
    const bool absent = call.absent_allowed && id == -1;
    if (!absent && (id < 0 || id >= experts)) return "VAL-8";
  }
  for (const TensorDescription* input : inputs) {
    if (breaks_val_9(*input)) return "VAL-9";
  }
  if (breaks_val_9(call.output)) return "VAL-9";
  return "";
}

}  // namespace slow_model
