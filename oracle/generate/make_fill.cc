#include <fmt/format.h>

#include "oracle/generate/fill_data.h"
#include "oracle/generate/matched_scales.h"

namespace moe4::oracle {
namespace {

std::unique_ptr<FillData> fill_of(const Case& c) {
  switch (c.fill) {
    case Fill::kExact8:
      return make_exact8_fill(c);
    case Fill::kExact24:
      return make_exact24_fill(c);
    case Fill::kBits:
      return make_bits_fill(c);
    case Fill::kReal:
      return make_real_fill(c);
    case Fill::kOnehot:
      return make_onehot_fill(c);
    case Fill::kPositive:
      return make_positive_fill(c);
    case Fill::kNonfinite:
      return make_nonfinite_fill(c);
    case Fill::kCancel:
      return make_cancel_fill(c);
    case Fill::kSlabCancel:
      return make_slab_cancel_fill(c);
    case Fill::kTies:
      return make_ties_fill(c);
    case Fill::kSubnormal:
      return make_subnormal_fill(c);
    case Fill::kTallPairs:
      return make_tall_pairs_fill(c);
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<FillData>> make_fill(const Case& c) {
  const FillBase base(c);
  const MatchedScales scales = c.fill == Fill::kBits ? bits_scales(base) : exact_scales(base);
  if (c.scales && !scales.has_room()) {
    return Error{"scales", fmt::format("window({},{})", c.scales->lo, c.scales->hi),
                 "DATA-12: no byte of this window gives outputs inside the range of f16"};
  }
  return fill_of(c);
}

}  // namespace moe4::oracle
