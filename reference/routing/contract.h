// What serving kernels rely on beside what the norm needs (RTE-17 to RTE-28). Never called by the norm: a
// routing that breaks one of these has a well-defined result, but a kernel need not give it.
#pragma once

#include <cstdint>

#include "reference/linear/combine.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"
#include "reference/status.h"

namespace moe4 {

// RTE-26: whether padding rows must hold zeros.
enum class PaddingRows : std::uint8_t { kZero, kAny };

// Each begins with the norm's own validation. tile_m: the rows of a kernel's tile, a multiple of 8 in
// 16..128.
Status validate_contract(const IndexedInputs& inputs);
Status validate_contract(const GroupedContiguousInputs& inputs, PaddingRows padding = PaddingRows::kZero);
Status validate_contract(const GroupedMaskedInputs& inputs, std::int64_t tile_m);
Status validate_contract(const CombineInputs& inputs);

// RTE-24: the rows of a tile, to which runs are aligned.
inline constexpr std::int64_t kContiguousAlignment = 128;

}  // namespace moe4
