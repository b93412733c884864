#include "gpu/measure/point_call.h"

#include <algorithm>

#include "gpu/launch/dispatch/expected_blocks.h"
#include "gpu/launch/dispatch/pick_kernel.h"

namespace moe4::gpu {
namespace {

constexpr std::int64_t kTopK = 8;

}  // namespace

PointCall call_of(const PublishedPoint& point, int multiprocessors) {
  PointCall made;
  PackedWeight weight;
  weight.deployment = find_deployment(point.deployment);
  weight.shape = {point.experts, point.out, point.in};
  const std::string_view op = weight.deployment->op;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(point.experts), point.rows / point.experts);
  if (op == "indexed") rows = drawn_rows(point.rows, point.experts);

  Call call;
  call.op = op;
  call.multiprocessors = multiprocessors;
  call.in = point.in;
  call.rows = point.rows;
  if (op == "grouped_masked") call.expected_m = point.rows / point.experts;
  const PickedKernel picked = pick_kernel(weight, call);
  if (picked.variant == nullptr) {
    made.error = picked.error.empty() ? "no kernel for it" : picked.error;
    return made;
  }
  LaunchShape shape;
  shape.out = point.out;
  shape.in = point.in;
  shape.tokens = point.tokens_in;
  if (op == "indexed") {
    // gate/up reads a token for each of its rows; down has a row of its own for each.
    shape.top_k = point.gate_up
                      ? std::max<std::int64_t>(kTopK, (point.rows + point.tokens_in - 1) / point.tokens_in)
                      : 1;
    shape.block_m = picked.block_m;
  }
  made.variant = picked.variant;
  made.call = sample_call(*picked.variant, shape, rows);
  return made;
}

PublishedPoint rehearsal_of(PublishedPoint point) {
  const bool contiguous = point.deployment == "h200_grouped_prefill";
  point.experts = 2;
  point.out = point.in = 256;
  point.rows = contiguous ? 256 : 16;
  point.tokens_in =
      point.gate_up && point.deployment.find("grouped") == std::string_view::npos ? 2 : point.rows;
  return point;
}

}  // namespace moe4::gpu
