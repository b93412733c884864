// How fuzz and shrink show what they found.
#pragma once

#include "oracle/gate/fuzz.h"

namespace moe4::oracle::cli {

// The minimal case's failure block, and from what and how it was shrunk.
void print_failure(const FuzzFailure& failure);

}  // namespace moe4::oracle::cli
