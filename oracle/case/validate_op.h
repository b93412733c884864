// CASE-13 … CASE-18: which keys an operation takes, and what they may be.
#pragma once

#include "oracle/case/case.h"

namespace moe4::oracle {

Status check_op(const Case& c);

}  // namespace moe4::oracle
