#include "gpu/measure/published.h"

namespace moe4::gpu {
namespace {

// Kimi K2.x: 384 experts, 8 of them a token, width 7168, 2048 inside an expert.
constexpr std::int64_t kExperts = 384, kTopK = 8, kWidth = 7168, kInner = 2048, kGpus = 8;

// Of an H200 as the table's source has them: bytes and BF16 operations a microsecond.
constexpr double kBytes = 4.8e6, kOperations = 989e6;

PublishedPoint point_of(std::string_view deployment, bool gate_up, std::int64_t tokens, double microseconds) {
  PublishedPoint point{deployment, gate_up, tokens, microseconds};
  const bool split =
      deployment == "h200_tp8";  // every GPU has a part of each expert, else each has whole experts
  const std::int64_t inner = split ? kInner / kGpus : kInner;
  point.experts = split ? kExperts : kExperts / kGpus;
  point.out = gate_up ? 2 * inner : kWidth;
  point.in = gate_up ? kWidth : inner;
  const bool grouped = deployment.find("grouped") != std::string_view::npos;
  // Prefill on whole experts: of the 8 rows of a token one comes here.
  point.rows = grouped ? tokens * point.experts : deployment == "h200_prefill_ep8" ? tokens : tokens * kTopK;
  point.tokens_in = grouped || !gate_up ? point.rows : tokens;
  return point;
}

}  // namespace

const std::vector<PublishedPoint>& published_points() {
  static const std::vector<PublishedPoint> all = {
#define MOE4_PUBLISHED(deployment, tokens, gate_up, down) \
  point_of(#deployment, true, tokens, gate_up), point_of(#deployment, false, tokens, down),
#include "gpu/measure/published.inc"
#undef MOE4_PUBLISHED
  };
  return all;
}

Floors floors_of(const PublishedPoint& p, std::int64_t active) {
  const auto weights = static_cast<double>(p.out * p.in);  // of one expert
  const double bytes = static_cast<double>(active) * (weights / 2 + weights / 16) +
                       2.0 * static_cast<double>(p.tokens_in * p.in + p.rows * p.out);
  return {bytes / kBytes, 2.0 * static_cast<double>(p.rows) * weights / kOperations};
}

}  // namespace moe4::gpu
