// The norm made fast: the functions of reference/linear with the same bits on every valid call and the same
// errors on every other. How that is known: certificate.h. To learn the rules, read reference/linear.
//
// Weights are decoded on the fly, a block of rows at a time, once for all rows of tokens that an expert has
// in a panel of 256. Memory beyond inputs and outputs: at most 128 MiB on up to 16 threads. counters: if not
// null, what the call adds to them; not touched on an Error.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/fast/counters.h"
#include "reference/linear/combine.h"
#include "reference/linear/expert_linear.h"
#include "reference/linear/grouped_contiguous.h"
#include "reference/linear/grouped_masked.h"
#include "reference/linear/indexed.h"

namespace moe4::fast {

// F64 tokens go to the exact accumulator, all of them.
Status expert_linear(const LinearInputs& inputs, MutableTensorView output, const Policy& policy = {},
                     Counters* counters = nullptr);
Result<Tensor> expert_linear(const LinearInputs& inputs, const Policy& policy = {},
                             Counters* counters = nullptr);

Result<std::vector<std::uint8_t>> indexed(const IndexedInputs& inputs, MutableTensorView output,
                                          const Policy& policy = {}, Counters* counters = nullptr);
Result<RowsResult> indexed(const IndexedInputs& inputs, const Policy& policy = {},
                           Counters* counters = nullptr);

Result<std::vector<std::uint8_t>> grouped_contiguous(const GroupedContiguousInputs& inputs,
                                                     MutableTensorView output, const Policy& policy = {},
                                                     Counters* counters = nullptr);
Result<RowsResult> grouped_contiguous(const GroupedContiguousInputs& inputs, const Policy& policy = {},
                                      Counters* counters = nullptr);

Result<std::vector<std::uint8_t>> grouped_masked(const GroupedMaskedInputs& inputs, MutableTensorView output,
                                                 const Policy& policy = {}, Counters* counters = nullptr);
Result<RowsResult> grouped_masked(const GroupedMaskedInputs& inputs, const Policy& policy = {},
                                  Counters* counters = nullptr);

Status combine(const CombineInputs& inputs, MutableTensorView output, const Policy& policy = {},
               Counters* counters = nullptr);
Result<Tensor> combine(const CombineInputs& inputs, Dtype output_dtype, const Policy& policy = {},
                       Counters* counters = nullptr);

}  // namespace moe4::fast
