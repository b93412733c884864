#include "reference/linear/expert_weights.h"

#include "reference/formats/packed_words.h"
#include "reference/linear/int4_weight.h"
#include "reference/linear/weight.h"

namespace moe4 {

TensorView words_by_groups(const TensorView& words) {
  const Shape s = words.strides_or_contiguous();
  return {words.dtype,
          {words.dim(0), words.dim(1), words.dim(2) / kGroupWords, kGroupWords},
          words.data,
          {s[0], s[1], s[2] * kGroupWords, s[2]}};
}

WeightReader::WeightReader(const ExpertWeights& weights, const Policy& policy)
    : format_(weights.format),
      policy_(policy),
      packed_(format_ == WeightFormat::kMxfp4 ? weights.packed_weights
                                              : words_by_groups(weights.packed_weights)),
      scales_(weights.scales) {}

WeightGroup WeightReader::group(std::int64_t e, std::int64_t o, std::int64_t g) const {
  const std::uint64_t scale = scale_bits(e, o, g);
  if (format_ == WeightFormat::kMxfp4) {
    return {weights_of_group(E8M0Bits{static_cast<std::uint8_t>(scale)}, policy_), codes(e, o, g)};  // FMT-5
  }
  return {weights_of_group(BF16Bits{static_cast<std::uint16_t>(scale)}), codes(e, o, g)};  // INT-4, INT-8
}

std::array<std::uint8_t, kGroupSize> WeightReader::codes(std::int64_t e, std::int64_t o,
                                                         std::int64_t g) const {
  std::array<std::uint8_t, kGroupSize> codes;
  std::uint64_t packed = 0;
  for (int k = 0; k < kGroupSize; ++k) {
    if (format_ == WeightFormat::kMxfp4) {
      if (k % 2 == 0) packed = packed_.bits({e, o, g, byte_of_element(k)});
      codes[k] = code_in_byte(static_cast<std::uint8_t>(packed), k).bits;  // FMT-3, FMT-4
    } else {
      if (k % 8 == 0) packed = packed_.bits({e, o, g, word_of_element(k)});
      codes[k] = code_in_word(static_cast<std::uint32_t>(packed), k).bits;  // INT-2, INT-3
    }
  }
  return codes;
}

}  // namespace moe4
