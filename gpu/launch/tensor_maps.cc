#include "gpu/launch/tensor_maps.h"

#include <algorithm>

namespace moe4::gpu {
namespace {

constexpr std::uint32_t kSlabColumns = 64;

struct Extent {
  std::int64_t size;
  std::uint32_t box;
};

// [planes, rows, row], contiguous. A tensor without elements has no map; nothing is copied from it either.
ptx::TensorMap contiguous(std::uint32_t element_bytes, Extent row, Extent rows, std::int64_t planes,
                          ptx::Swizzle swizzle) {
  const auto size = [](std::int64_t n) { return static_cast<std::uint64_t>(std::max(n, std::int64_t{1})); };
  ptx::TensorMap map;
  map.element_bytes = element_bytes;
  map.rank = 3;
  map.dims = {size(row.size), size(rows.size), size(planes)};
  map.strides[0] = element_bytes;
  map.strides[1] = map.strides[0] * map.dims[0];
  map.strides[2] = map.strides[1] * map.dims[1];
  map.box = {row.box, rows.box, 1};
  map.swizzle = swizzle;
  return map;
}

}  // namespace

ptx::TensorMap token_map(std::int64_t planes, std::int64_t rows, std::int64_t in, int box_rows) {
  return contiguous(2, {in, kSlabColumns}, {rows, static_cast<std::uint32_t>(box_rows)}, planes,
                    ptx::Swizzle::k128B);
}

ptx::TensorMap code_map(std::int64_t experts, std::int64_t out, std::int64_t in, WeightBox box) {
  const auto bytes = static_cast<std::uint32_t>(box.inputs / 2);
  return contiguous(1, {in / 2, bytes}, {out, static_cast<std::uint32_t>(box.outputs)}, experts,
                    bytes == 32 ? ptx::Swizzle::k32B : ptx::Swizzle::k64B);
}

ptx::TensorMap scale_map(std::int64_t experts, std::int64_t out, std::int64_t in, WeightBox box) {
  return contiguous(2, {out, static_cast<std::uint32_t>(box.outputs)},
                    {in / 32, static_cast<std::uint32_t>(box.inputs / 32)}, experts, ptx::Swizzle::kNone);
}

}  // namespace moe4::gpu
