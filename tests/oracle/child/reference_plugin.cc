// A plug-in that computes every operation with the reference, from nothing but the C structures. What it is
// asked to do wrong stands in the environment variable MOE4_TEST_MISDEED.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "oracle/subject/plugin.h"
#include "reference/layout/repack.h"
#include "reference/linear/combine.h"
#include "reference/linear/expert_linear.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"

namespace {

using namespace moe4;

Dtype dtype_of(std::uint32_t dtype) {
  switch (dtype) {
    case MOE4_U8:
      return Dtype::kU8;
    case MOE4_I32:
      return Dtype::kI32;
    case MOE4_I64:
      return Dtype::kI64;
    case MOE4_BF16:
      return Dtype::kBF16;
    case MOE4_F16:
      return Dtype::kF16;
    case MOE4_F32:
      return Dtype::kF32;
    default:
      return Dtype::kF64;
  }
}

TensorView view(const moe4_tensor& t) {
  return {dtype_of(t.dtype), Shape(t.shape, t.shape + t.rank), t.data, {}};
}

Status compute(const moe4_case& c, MutableTensorView output) {
  const Result<Policy> policy = parse_policy(c.policy);
  if (!policy.ok()) return policy.error();
  const auto status = [](const auto& result) { return result.ok() ? Status() : Status(result.error()); };
  if (c.op == MOE4_COMBINE) {
    std::optional<TensorView> ids;
    if (c.selected_experts.dtype != MOE4_NONE) ids = view(c.selected_experts);
    return combine({view(c.rows), view(c.mixture_weights), ids, view(c.shared_output)}, output, *policy);
  }
  const WeightFormat format = c.weights == MOE4_MXFP4 ? WeightFormat::kMxfp4 : WeightFormat::kInt4;
  const WeightLayout* layout = find_weight_layout(c.layout);
  if (layout == nullptr) return Error{"layout", c.layout, "a known one"};
  WeightViews given{view(c.packed_weights), {}};
  if (c.scales.dtype != MOE4_NONE) given.scales = view(c.scales);
  const Result<WeightTensors> logical = unpack(*layout, given);
  if (!logical.ok()) return logical.error();
  const ExpertWeights weights{format, logical->codes.view(), logical->scales.view()};
  const TensorView x = view(c.latent_tokens);
  switch (c.op) {
    case MOE4_EXPERT_LINEAR:
      return expert_linear(
          {x, weights, view(c.selected_experts), view(c.mixture_weights), view(c.shared_output)}, output,
          *policy);
    case MOE4_INDEXED:
      return status(indexed(
          {x, weights, view(c.sorted_ids), view(c.expert_ids), view(c.num_tokens_padded), c.top_k, c.block_m},
          output, *policy));
    case MOE4_GROUPED_CONTIGUOUS:
      return status(grouped_contiguous({x, weights, view(c.m_indices)}, output, *policy));
    case MOE4_GROUPED_MASKED:
      return status(grouped_masked({x, weights, view(c.masked_m), c.expected_m}, output, *policy));
    default:
      return Error{"op", std::to_string(c.op), "a known one"};
  }
}

int run(const moe4_case* c, const moe4_output* output, char* message, std::size_t message_size) {
  const char* asked = std::getenv("MOE4_TEST_MISDEED");
  const std::string misdeed = asked == nullptr ? "" : asked;
  const auto say = [&](const std::string& text) { std::snprintf(message, message_size, "%s", text.c_str()); };
  auto* bytes = static_cast<unsigned char*>(output->data);
  std::size_t size = size_of(dtype_of(output->dtype));
  for (std::uint32_t n = 0; n < output->rank; ++n) size *= static_cast<std::size_t>(output->shape[n]);
  if (misdeed == "crash") std::abort();
  if (misdeed == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (misdeed == "unsupported") return say("no such tile"), MOE4_UNSUPPORTED;
  if (misdeed == "error") return say("out of luck"), MOE4_ERROR;
  if (misdeed == "say_how_threads_wait") {
    const char* policy = std::getenv("OMP_WAIT_POLICY");
    return say(policy == nullptr ? "as they like" : policy), MOE4_ERROR;
  }
  if (misdeed == "nothing_written") return MOE4_OK;
  if (const Status status = compute(
          *c, {dtype_of(output->dtype), Shape(output->shape, output->shape + output->rank), output->data})) {
    return say(status->message()), MOE4_ERROR;
  }
  if (misdeed == "far_beyond_the_output") bytes[size + 4096] = 1;
  if (misdeed == "just_before_the_output") bytes[-1] = 1;
  if (misdeed == "read_before_the_tokens")
    return static_cast<const unsigned char*>(c->latent_tokens.data)[-4096];
  if (misdeed == "change_an_input") {
    const_cast<unsigned char*>(static_cast<const unsigned char*>(c->packed_weights.data))[0] ^= 1;
  }
  if (misdeed == "first_call_wrong") {
    static int calls = 0;
    if (calls++ == 0) bytes[1] ^= 0x80;
  }
  if (misdeed == "one_wrong") bytes[1] ^= 0x80;
  return MOE4_OK;
}

}  // namespace

const moe4_plugin* moe4_plugin_entry() {
  static moe4_plugin plugin{MOE4_PLUGIN_ABI, sizeof(moe4_plugin), run};
  if (std::getenv("MOE4_TEST_MISDEED") != nullptr) {
    const std::string misdeed = std::getenv("MOE4_TEST_MISDEED");
    if (misdeed == "another_version") plugin.abi = 99;
    if (misdeed == "no_run") plugin.run = nullptr;
    if (misdeed == "no_plugin") return nullptr;
  }
  return &plugin;
}
