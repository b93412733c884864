// The gate rows (first half) and the up rows (second half) of each expert, taken in turn.
#include <cstring>

#include "gpu/layout/packers.h"

namespace moe4::gpu {
namespace {

void alternate_rows(std::int64_t experts, std::int64_t rows, std::size_t row_bytes, const std::byte* from,
                    std::byte* to) {
  const std::int64_t half = rows / 2;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::byte* gate = from + static_cast<std::size_t>(e * rows) * row_bytes;
    const std::byte* up = gate + static_cast<std::size_t>(half) * row_bytes;
    for (std::int64_t r = 0; r < half; ++r) {
      std::memcpy(to, gate, row_bytes);
      std::memcpy(to + row_bytes, up, row_bytes);
      gate += row_bytes;
      up += row_bytes;
      to += 2 * row_bytes;
    }
  }
}

}  // namespace

void pack_gpt_oss(const WeightShape& shape, const PackerSource& from, const PackerTarget& to) {
  const auto groups = static_cast<std::size_t>(shape.groups());
  alternate_rows(shape.experts, shape.out, 16 * groups, from.codes.data(), to.codes.data());
  alternate_rows(shape.experts, shape.out, groups, from.scales.data(), to.scales.data());
}

}  // namespace moe4::gpu
