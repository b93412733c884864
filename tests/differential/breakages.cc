#include "tests/differential/breakages.h"

#include <algorithm>
#include <limits>

namespace differential {
namespace {

using moe4::Dtype;
using moe4::TensorView;

constexpr TensorView moe4::ExpertLinearInputs::*kInputs[] = {
    &moe4::ExpertLinearInputs::latent_tokens,   &moe4::ExpertLinearInputs::packed_weights,
    &moe4::ExpertLinearInputs::scale_bytes,     &moe4::ExpertLinearInputs::selected_experts,
    &moe4::ExpertLinearInputs::mixture_weights, &moe4::ExpertLinearInputs::shared_output,
};
constexpr const char* kNames[] = {"latent_tokens",    "packed_weights",  "scale_bytes",
                                  "selected_experts", "mixture_weights", "shared_output"};

slow_model::TensorDescription describe(const TensorView& view) {
  return {std::string(moe4::name_of(view.dtype)), view.shape, view.strides,
          reinterpret_cast<std::uintptr_t>(view.data)};
}

// By one; an end of the range, which another edit may have set, wraps.
void lengthen(std::int64_t& n) { n = n == std::numeric_limits<std::int64_t>::max() ? 0 : n + 1; }
void shorten(std::int64_t& n) { n = n == std::numeric_limits<std::int64_t>::min() ? 0 : n - 1; }

void add_ranks_and_dtypes(std::vector<Breakage>& result) {
  for (int n = 0; n < 6; ++n) {
    const auto input = kInputs[n];
    const std::string name = kNames[n];
    result.push_back(
        {"VAL-1 " + name + " lacks an axis", [input](Call& c) { (c.inputs.*input).shape.pop_back(); }});
    result.push_back({"VAL-1 " + name + " has an axis of 1 more", [input](Call& c) {
                        (c.inputs.*input).shape.insert((c.inputs.*input).shape.begin(), 1);
                      }});
    result.push_back(
        {"VAL-1 " + name + " has no axis", [input](Call& c) { (c.inputs.*input).shape.clear(); }});
    const bool ids = n == 3;
    const bool bytes = n == 1 || n == 2;
    for (const Dtype dtype : {Dtype::kU8, Dtype::kI32, Dtype::kI64, Dtype::kBF16, Dtype::kF64}) {
      const bool allowed = bytes ? dtype == Dtype::kU8
                           : ids ? dtype == Dtype::kI32 || dtype == Dtype::kI64
                                 : moe4::is_float(dtype);
      if (allowed) continue;
      result.push_back({"VAL-2 " + name + " is " + std::string(moe4::name_of(dtype)),
                        [input, dtype](Call& c) { (c.inputs.*input).dtype = dtype; }});
    }
  }
}

void add_shapes(std::vector<Breakage>& result) {
  for (const std::int64_t in : {0, 1, 16, 31, 33, 48, -32}) {
    result.push_back(
        {"VAL-3 in = " + std::to_string(in), [in](Call& c) { c.inputs.latent_tokens.shape[1] = in; }});
  }
  result.push_back(
      {"VAL-4 one group of tokens too many", [](Call& c) { c.inputs.latent_tokens.shape[1] += 32; }});
  for (int n = 0; n < 6; ++n) {
    const auto input = kInputs[n];
    const std::size_t rank = n == 1 ? 4 : n == 2 ? 3 : 2;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (n == 0 && axis == 1) continue;  // that is VAL-3
      result.push_back({std::string("VAL-4 ") + kNames[n] + " one longer on axis " + std::to_string(axis),
                        [input, axis](Call& c) { lengthen((c.inputs.*input).shape[axis]); }});
    }
  }
  result.push_back({"VAL-4 output one longer", [](Call& c) { lengthen(c.out.shape[1]); }});
  result.push_back({"VAL-4 output one token short", [](Call& c) { shorten(c.out.shape[0]); }});
  result.push_back({"VAL-4 output of rank 1", [](Call& c) { c.out.shape.pop_back(); }});
  result.push_back({"VAL-5 output of another dtype",
                    [](Call& c) { c.out.dtype = c.out.dtype == Dtype::kF32 ? Dtype::kF64 : Dtype::kF32; }});
}

// Sets one of the dimensions T, E, O, K wherever it stands, so that all shapes still agree.
void set_dimension(Call& c, char dimension, std::int64_t value) {
  switch (dimension) {
    case 'T':
      for (TensorView* view : {&c.inputs.latent_tokens, &c.inputs.selected_experts, &c.inputs.mixture_weights,
                               &c.inputs.shared_output}) {
        view->shape[0] = value;
      }
      c.out.shape[0] = value;
      break;
    case 'E':
      c.inputs.packed_weights.shape[0] = c.inputs.scale_bytes.shape[0] = value;
      break;
    case 'O':
      c.inputs.packed_weights.shape[1] = c.inputs.scale_bytes.shape[1] = value;
      c.inputs.shared_output.shape[1] = c.out.shape[1] = value;
      break;
    default:
      c.inputs.selected_experts.shape[1] = c.inputs.mixture_weights.shape[1] = value;
      break;
  }
}

void add_sizes(std::vector<Breakage>& result) {
  for (const char dimension : {'T', 'E', 'O', 'K'}) {
    for (const std::int64_t value : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t{1} << 61, std::numeric_limits<std::int64_t>::max()}) {
      result.push_back(
          {std::string("VAL-6 ") + dimension + " = " + std::to_string(value), [dimension, value](Call& c) {
             set_dimension(c, dimension, value);
             if (dimension == 'K' && value == std::int64_t{1} << 61) {
               set_dimension(c, 'T', 4);  // T * K = 2^63
             }
           }});
    }
  }
  result.push_back({"VAL-6 a product that wraps to 0", [](Call& c) {
                      set_dimension(c, 'E', std::int64_t{1} << 32);
                      set_dimension(c, 'O', std::int64_t{1} << 32);
                    }});
  for (int n = 0; n < 6; ++n) {
    const auto input = kInputs[n];
    result.push_back({std::string("VAL-6 ") + kNames[n] + " with one stride",
                      [input](Call& c) { (c.inputs.*input).strides = {1}; }});
    result.push_back({std::string("VAL-6 ") + kNames[n] + " with a stride too many", [input](Call& c) {
                        (c.inputs.*input).strides.assign((c.inputs.*input).rank() + 1, 1);
                      }});
  }
  result.push_back({"VAL-6 tokens beyond the address space", [](Call& c) {
                      c.inputs.latent_tokens.strides = {1, std::numeric_limits<std::int64_t>::max()};
                    }});
  result.push_back({"VAL-6 tokens before the address space", [](Call& c) {
                      c.inputs.latent_tokens.strides = {1, std::numeric_limits<std::int64_t>::min() + 1};
                    }});
}

void add_memory_and_ids(std::vector<Breakage>& result) {
  for (int n = 0; n < 6; ++n) {
    const auto input = kInputs[n];
    const std::string name = kNames[n];
    result.push_back({"VAL-7 output on " + name,
                      [input](Call& c) { c.out.data = const_cast<void*>((c.inputs.*input).data); }});
    result.push_back({"VAL-7 output on the last byte of " + name, [input](Call& c) {
                        const TensorView& view = c.inputs.*input;
                        const auto bytes = static_cast<std::size_t>(*moe4::element_count(view.shape)) *
                                           moe4::size_of(view.dtype);
                        c.out.data = static_cast<char*>(const_cast<void*>(view.data)) + bytes - 1;
                      }});
    result.push_back({"VAL-9 no " + name, [input](Call& c) { (c.inputs.*input).data = nullptr; }});
  }
  result.push_back({"VAL-9 no output", [](Call& c) { c.out.data = nullptr; }});
  const auto set_last_id = [](Call& c, std::int64_t id) {
    moe4::Tensor& ids = c.tensors.selected_experts;
    if (ids.dtype() == Dtype::kI64) {
      ids.as<std::int64_t>().back() = id;
    } else {
      ids.as<std::int32_t>().back() = static_cast<std::int32_t>(std::clamp<std::int64_t>(
          id, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
    }
  };
  result.push_back(
      {"VAL-8 id = E", [set_last_id](Call& c) { set_last_id(c, c.tensors.packed_weights.dim(0)); }});
  result.push_back({"VAL-8 id = -2", [set_last_id](Call& c) { set_last_id(c, -2); }});
  result.push_back({"VAL-8 id = -1 where none may be absent", [set_last_id](Call& c) {
                      set_last_id(c, -1);
                      c.policy.ids = moe4::Ids::kError;
                    }});
  result.push_back({"VAL-8 the largest id",
                    [set_last_id](Call& c) { set_last_id(c, std::numeric_limits<std::int64_t>::max()); }});
  result.push_back({"VAL-8 the smallest id",
                    [set_last_id](Call& c) { set_last_id(c, std::numeric_limits<std::int64_t>::min()); }});
  result.push_back({"VAL-8 an id in a slot that skip_zero_p skips", [set_last_id](Call& c) {
                      set_last_id(c, c.tensors.packed_weights.dim(0));
                      c.policy.skip_zero_p = moe4::SkipZeroP::kYes;
                      std::fill_n(c.tensors.mixture_weights.data(), c.tensors.mixture_weights.bytes(),
                                  std::byte{0});
                    }});
}

}  // namespace

Call::Call(const slow_model::Problem& problem)
    : tensors(problem),
      output(tensors.latent_tokens.dtype(), {problem.tokens, problem.out}),
      inputs(tensors.inputs()),
      out(output.mutable_view()),
      policy(reference_call::policy_of(problem.policy)) {}

slow_model::CallDescription describe(const Call& call) {
  slow_model::CallDescription result;
  result.latent_tokens = describe(call.inputs.latent_tokens);
  result.packed_weights = describe(call.inputs.packed_weights);
  result.scale_bytes = describe(call.inputs.scale_bytes);
  result.selected_experts = describe(call.inputs.selected_experts);
  result.mixture_weights = describe(call.inputs.mixture_weights);
  result.shared_output = describe(call.inputs.shared_output);
  result.output = describe(TensorView(call.out));
  result.absent_allowed = call.policy.ids == moe4::Ids::kAbsent;
  const moe4::Tensor& ids = call.tensors.selected_experts;
  if (call.inputs.selected_experts.data != nullptr && ids.dtype() == Dtype::kI64) {
    result.ids.assign(ids.as<std::int64_t>().begin(), ids.as<std::int64_t>().end());
  } else if (call.inputs.selected_experts.data != nullptr) {
    result.ids.assign(ids.as<std::int32_t>().begin(), ids.as<std::int32_t>().end());
  }
  return result;
}

std::vector<Breakage> breakages() {
  std::vector<Breakage> result;
  add_ranks_and_dtypes(result);
  add_shapes(result);
  add_sizes(result);
  add_memory_and_ids(result);
  return result;
}

}  // namespace differential
