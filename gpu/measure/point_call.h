// A published point as a call of the kernel that dispatch picks for it.
#pragma once

#include <string>

#include "gpu/measure/published.h"
#include "gpu/measure/sample_call.h"

namespace moe4::gpu {

struct PointCall {
  const Variant* variant = nullptr;  // null: why, in `error`
  std::string error;
  SampleCall call;
};

// Rows are spread over experts as the tuning rule draws them (expected_blocks.h), grouped ones evenly.
PointCall call_of(const PublishedPoint& point, int multiprocessors);

// The same kind of call at sizes that an executor can follow: 2 experts, 256 outputs, 256 inputs, few rows.
PublishedPoint rehearsal_of(PublishedPoint point);

}  // namespace moe4::gpu
