// The least step of every code of a group (VER-10): by how much the weight changes when the code becomes the
// one nearest to it in value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "oracle/case/case_data.h"
#include "oracle/generate/code_magnitudes.h"
#include "oracle/generate/int4_scale.h"

namespace moe4::oracle {

struct GroupSteps {
  std::array<double, 16> of_code{};
  double largest = 0;  // 0: nothing of this group can be covered by a finite output
};

class WeightSteps {
 public:
  // Precondition: data has weights.
  explicit WeightSteps(const CaseData& data);

  // The scale byte of group g of row e·O + o; int4: the exponent field of the scale.
  std::uint8_t key(std::int64_t row, std::int64_t g) const;
  // Is that scale no number, so that all 32 weights are NaN or infinite (VER-11)?
  bool is_nonfinite(std::uint8_t key) const { return key == 255 && nonfinite_; }
  // May some weight be infinite though the scale is a number (INT-4)?
  bool may_overflow(std::uint8_t key) const {
    return data_.weights == WeightFormat::kInt4 && key > kInt4LastField && key != 255;
  }
  // Valid until the next call with the same scratch.
  const GroupSteps& group(std::int64_t row, std::int64_t g, GroupSteps& scratch) const;
  void codes(std::int64_t row, std::int64_t g, std::array<std::uint8_t, 32>& to) const {
    magnitudes_.codes(row, g, to);
  }

 private:
  const CaseData& data_;
  CodeMagnitudes magnitudes_;
  std::int64_t groups_;
  bool nonfinite_;
  std::array<GroupSteps, 256> of_byte_;  // mxfp4
};

}  // namespace moe4::oracle
