// From a failing case line to a minimal one, still one line.
#pragma once

#include <chrono>
#include <functional>

#include "oracle/case/case.h"

namespace moe4::oracle {

struct ShrinkLimits {
  std::int64_t runs = 2000;
  std::chrono::duration<double> time{60};
  std::function<bool()> stop;  // true: no run is made any more
};

struct Shrunk {
  Case line;
  std::int64_t runs = 0;  // how often `fails` was asked
  bool complete = false;  // false: a limit ended the search
};

// Precondition: fails(start). First RapidCheck's search over simpler case lines (simpler.h), then the
// support: the keys keep_tokens, keep_outputs, keep_groups and keep_codes name the few places that are not
// zero, and the shape is cut to what they keep. `fails` decides alone; a line that cannot be generated must
// be answered with false.
Shrunk shrink_case(const Case& start, const std::function<bool(const Case&)>& fails,
                   const ShrinkLimits& limits = {});

}  // namespace moe4::oracle
