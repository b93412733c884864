// Rows of weights as the kernels read them: 16 bytes a group and the group's scale, one row after the other,
// whatever the strides of the tensors are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reference/fast/loops/kernels.h"
#include "reference/formats/elements.h"
#include "reference/linear/expert_weights.h"

namespace moe4::fast {

inline constexpr std::int64_t kTileOctets = 4;
inline constexpr std::int64_t kTileRows =
    kTileOctets * kOctet;  // rows of weights that a thread takes at once

// Borrows the weights; one for each thread.
class WeightTile {
 public:
  // Precondition: valid weights.
  WeightTile(const ExpertWeights& weights, const Policy& policy);

  // Rows o .. o + count - 1 of expert e, 1 <= count <= kTileRows; the last one again up to kTileRows.
  // Reads nothing of other rows (LIN-4).
  void select(std::int64_t e, std::int64_t o, std::int64_t count);

  // What was selected, from octet `first` on. Valid until the next select.
  WeightRows octets(std::int64_t first, std::int64_t count) const;
  std::int64_t octet_count() const { return octets_; }
  const std::uint8_t* scales(std::int64_t row) const { return scales_[static_cast<std::size_t>(row)]; }
  WeightFormat format() const { return format_; }

 private:
  void copy(std::int64_t e, std::int64_t o, std::int64_t row);

  WeightFormat format_;
  std::int64_t groups_;
  std::int64_t scale_bytes_;  // of one scale
  Elements<4> packed_;        // bytes [E,O,G,16] or words [E,O,G,4]
  Elements<3> scale_elements_;
  const std::uint8_t* packed_base_ = nullptr;  // null: not contiguous, rows are copied
  const std::uint8_t* scale_base_ = nullptr;
  std::array<std::int64_t, 2> packed_strides_{};  // bytes from expert to expert, from row to row
  std::array<std::int64_t, 2> scale_strides_{};
  std::array<double, 256> scale_of_byte_{};
  std::int64_t octets_ = 0;
  std::array<const std::uint8_t*, kTileRows> codes_{};
  std::array<const std::uint8_t*, kTileRows> scales_{};
  std::vector<std::uint8_t> copies_;  // [kTileRows][codes, scales]
};

}  // namespace moe4::fast
