#include "reference/fast/weight_rows.h"

#include <algorithm>
#include <cstring>

#include "reference/fast/round_interval.h"
#include "reference/formats/packed_codes.h"
#include "reference/formats/packed_words.h"
#include "reference/linear/weight.h"

namespace moe4::fast {
namespace {

// Are the elements of one row of one expert side by side? axes: those behind [E,O].
bool rows_are_contiguous(const TensorView& view) {
  const Shape strides = view.strides_or_contiguous();
  std::int64_t expected = 1;
  for (std::size_t axis = view.rank(); axis-- > 2;) {
    if (view.dim(axis) != 1 && strides[axis] != expected) return false;
    expected *= view.dim(axis);
  }
  return true;
}

std::array<std::int64_t, 2> outer_strides(const TensorView& view) {
  const Shape strides = view.strides_or_contiguous();
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  return {strides[0] * size, strides[1] * size};
}

}  // namespace

WeightTile::WeightTile(const ExpertWeights& weights, const Policy& policy)
    : format_(weights.format),
      groups_(weights.scales.dim(2)),
      scale_bytes_(static_cast<std::int64_t>(size_of(weights.scales.dtype))),
      packed_(format_ == WeightFormat::kMxfp4 ? weights.packed_weights
                                              : words_by_groups(weights.packed_weights)),
      scale_elements_(weights.scales),
      packed_strides_(outer_strides(weights.packed_weights)),
      scale_strides_(outer_strides(weights.scales)) {
  if (rows_are_contiguous(weights.packed_weights) && rows_are_contiguous(weights.scales)) {
    packed_base_ = static_cast<const std::uint8_t*>(weights.packed_weights.data);
    scale_base_ = static_cast<const std::uint8_t*>(weights.scales.data);
  } else {
    copies_.resize(static_cast<std::size_t>(kTileRows * groups_ * (kGroupBytes + scale_bytes_)));
  }
  for (int byte = 0; byte < 256; ++byte) {
    const E8M0Bits bits{static_cast<std::uint8_t>(byte)};
    scale_of_byte_[static_cast<std::size_t>(byte)] = to_double(scale_value(bits, policy));
  }
}

void WeightTile::copy(std::int64_t e, std::int64_t o, std::int64_t row) {
  std::uint8_t* const codes = copies_.data() + row * groups_ * (kGroupBytes + scale_bytes_);
  std::uint8_t* const scales = codes + groups_ * kGroupBytes;
  const std::int64_t units = format_ == WeightFormat::kMxfp4 ? kGroupBytes : kGroupWords;
  const std::int64_t size = kGroupBytes / units;
  for (std::int64_t g = 0; g < groups_; ++g) {
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const std::uint64_t bits = packed_.bits({e, o, g, unit});
      std::memcpy(codes + g * kGroupBytes + unit * size, &bits, static_cast<std::size_t>(size));
    }
    const std::uint64_t scale = scale_elements_.bits({e, o, g});
    std::memcpy(scales + g * scale_bytes_, &scale, static_cast<std::size_t>(scale_bytes_));
  }
  codes_[static_cast<std::size_t>(row)] = codes;
  scales_[static_cast<std::size_t>(row)] = scales;
}

void WeightTile::select(std::int64_t e, std::int64_t o, std::int64_t count) {
  octets_ = (count + kOctet - 1) / kOctet;
  for (std::int64_t row = 0; row < kTileRows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (row >= count) {
      codes_[at] = codes_[at - 1];
      scales_[at] = scales_[at - 1];
    } else if (packed_base_ == nullptr) {
      copy(e, o + row, row);
    } else {
      codes_[at] = packed_base_ + e * packed_strides_[0] + (o + row) * packed_strides_[1];
      scales_[at] = scale_base_ + e * scale_strides_[0] + (o + row) * scale_strides_[1];
    }
  }
}

WeightRows WeightTile::octets(std::int64_t first, std::int64_t count) const {
  return {format_,
          scale_of_byte_.data(),
          &codes_[static_cast<std::size_t>(first * kOctet)],
          &scales_[static_cast<std::size_t>(first * kOctet)],
          count,
          groups_};
}

}  // namespace moe4::fast
