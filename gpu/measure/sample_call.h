// A call with made-up data, to count or to time: bytes of every tensor that an operation reads, and a
// routing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/launch/variant.h"

namespace moe4::gpu {

struct SampleTensor {
  std::string name;
  std::vector<std::byte> bytes;
};

struct SampleCall {
  LaunchShape shape;
  std::vector<SampleTensor> tensors;
  std::size_t output_bytes = 0;
  std::int64_t active = 0;  // experts that have a row
};

// rows_of_expert: how many rows each expert has. The sizes of `shape` that follow from it are filled in.
// Values are finite and of usual size; codes are drawn. Indexed: rows are sorted_ids of distinct rows below
// tokens·top_k, aligned to shape.block_m.
SampleCall sample_call(const Variant& variant, LaunchShape shape,
                       const std::vector<std::int64_t>& rows_of_expert);

}  // namespace moe4::gpu
