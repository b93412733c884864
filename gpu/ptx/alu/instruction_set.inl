// All handlers of one host instruction set: the including file defines MOE4_SET (a namespace) and MOE4_TARGET
// (the target attribute of each loop).
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gpu/ptx/alu/alu.h"
#include "gpu/ptx/alu/narrow.h"
#include "gpu/ptx/run/warp.h"

#if defined(__clang__)
// Some loops (integer division) cannot be vectorised; they run all the same.
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

namespace moe4::ptx::MOE4_SET {
namespace {

#include "gpu/ptx/alu/lanes.inl"

#include "gpu/ptx/alu/integer.inl"

#include "gpu/ptx/alu/integer_handlers.inl"

#include "gpu/ptx/alu/float.inl"

#include "gpu/ptx/alu/half.inl"

#include "gpu/ptx/alu/compare.inl"

#include "gpu/ptx/alu/convert.inl"

}  // namespace

const Alu& alu();
const Alu& alu() {
  static const Alu table{MOE4_SET_NAME,      &integer_handler, &float_handler,  &half_handler,
                         &predicate_handler, &select_handler,  &convert_handler};
  return table;
}

}  // namespace moe4::ptx::MOE4_SET
