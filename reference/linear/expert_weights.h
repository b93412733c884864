// The weights of all experts in either format, read a group of 32 at a time.
//
//   format   packed_weights        scales
//   kMxfp4   U8  [E,O,G,16]        U8   [E,O,G]   scale_bytes (FMT-1 to FMT-5)
//   kInt4    I32 [E,O,I/8]         BF16 [E,O,G]   scales (INT-1 to INT-5)
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "reference/formats/elements.h"
#include "reference/formats/exact_value.h"
#include "reference/formats/packed_codes.h"
#include "reference/formats/weight_format.h"
#include "reference/policy.h"
#include "reference/tensor.h"

namespace moe4 {

// Borrowed tensors; checked by the operation that takes them (VAL-1 to VAL-9).
struct ExpertWeights {
  WeightFormat format = WeightFormat::kMxfp4;
  TensorView packed_weights;
  TensorView scales;

  static ExpertWeights mxfp4(TensorView packed_weights, TensorView scale_bytes) {
    return {WeightFormat::kMxfp4, std::move(packed_weights), std::move(scale_bytes)};
  }
  static ExpertWeights int4(TensorView packed_weights, TensorView scales) {
    return {WeightFormat::kInt4, std::move(packed_weights), std::move(scales)};
  }

  // What messages, files and case data call the second tensor.
  std::string_view scales_name() const { return format == WeightFormat::kMxfp4 ? "scale_bytes" : "scales"; }
};

// Words [E,O,I/8] seen as [E,O,G,4].
TensorView words_by_groups(const TensorView& words);

// One group: what each code means there, and the code of each element.
struct WeightGroup {
  std::array<ExactValue, 16> value_of_code;
  std::array<std::uint8_t, kGroupSize> code;

  const ExactValue& operator[](int element) const {
    return value_of_code[code[static_cast<std::size_t>(element)]];
  }
};

class WeightReader {
 public:
  // Precondition: valid weights.
  WeightReader(const ExpertWeights& weights, const Policy& policy);

  // Group g of row o of expert e; reads that group's codes and scale and nothing else.
  WeightGroup group(std::int64_t e, std::int64_t o, std::int64_t g) const;

  // The same in two parts: the encoding of the scale (FMT-2, INT-3), and the code of each element.
  std::uint64_t scale_bits(std::int64_t e, std::int64_t o, std::int64_t g) const {
    return scales_.bits({e, o, g});
  }
  std::array<std::uint8_t, kGroupSize> codes(std::int64_t e, std::int64_t o, std::int64_t g) const;

 private:
  WeightFormat format_;
  Policy policy_;
  Elements<4> packed_;  // bytes [E,O,G,16] or words [E,O,G,4]
  Elements<3> scales_;
};

}  // namespace moe4
