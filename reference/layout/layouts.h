// The layouts, one formula a file; weight_layouts() lists them.
#pragma once

#include "reference/layout/weight_layout.h"

namespace moe4 {

extern const WeightLayout kRowMajor;           // row_major.cc, LAY-5
extern const WeightLayout kGguf;               // gguf.cc, LAY-6
extern const WeightLayout kGptOss;             // gpt_oss.cc, LAY-7
extern const WeightLayout kCompressedTensors;  // compressed_tensors.cc, LAY-8
extern const WeightLayout kIndexedMma;         // indexed.cc, LAY-9, LAY-10
extern const WeightLayout kIndexedWgmma;       // indexed.cc, LAY-9, LAY-10
extern const WeightLayout kGroupedContiguous;  // grouped.cc, LAY-11, LAY-12, LAY-13
extern const WeightLayout kGroupedMasked;      // grouped.cc, LAY-11, LAY-12, LAY-13

}  // namespace moe4
