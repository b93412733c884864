#include "gpu/layout/packer.h"

#include <array>

#include "gpu/layout/packers.h"

namespace moe4::gpu {
namespace {

// The number of groups of the whole weights, or nullopt if a dimension is not positive or it exceeds 2^57.
std::optional<std::size_t> all_groups(const WeightShape& shape) {
  if (shape.experts < 1 || shape.out < 1 || shape.in < 32 || shape.in % 32 != 0) return std::nullopt;
  const auto product =
      static_cast<unsigned __int128>(shape.experts) * static_cast<unsigned __int128>(shape.out);  // < 2^126
  if (product > (std::uint64_t{1} << 57)) return std::nullopt;
  const unsigned __int128 groups = product * static_cast<unsigned __int128>(shape.groups());
  if (groups > (std::uint64_t{1} << 57)) return std::nullopt;
  return static_cast<std::size_t>(groups);
}

}  // namespace

std::span<const Packer> packers() {
  static constexpr std::array<Packer, 6> kPackers = {{
      {"gguf", "mxfp4", 1, 32, true, pack_gguf},
      {"gpt_oss", "mxfp4", 2, 32, false, pack_gpt_oss},
      {"indexed_mma", "int4", 64, 64, false, pack_indexed_mma},
      {"indexed_wgmma", "int4", 64, 64, false, pack_indexed_wgmma},
      {"grouped_contiguous", "int4", 64, 64, false, pack_grouped},
      {"grouped_masked", "int4", 64, 128, false, pack_grouped},
  }};
  return kPackers;
}

const Packer* find_packer(std::string_view layout) {
  for (const Packer& packer : packers()) {
    if (packer.layout == layout) return &packer;
  }
  return nullptr;
}

std::size_t Packer::source_code_bytes(const WeightShape& shape) const {
  return 16 * all_groups(shape).value_or(0);
}

std::size_t Packer::source_scale_bytes(const WeightShape& shape) const {
  return scale_bytes_each() * all_groups(shape).value_or(0);
}

std::size_t Packer::code_bytes(const WeightShape& shape) const {
  return source_code_bytes(shape) + (scales_among_codes ? source_scale_bytes(shape) : 0);
}

std::size_t Packer::scale_bytes(const WeightShape& shape) const {
  return scales_among_codes ? 0 : source_scale_bytes(shape);
}

std::optional<std::string> pack_weights(const Packer& packer, const WeightShape& shape,
                                        const PackerSource& from, const PackerTarget& to) {
  const std::string name(packer.layout);
  if (!all_groups(shape) || shape.out % packer.out_multiple != 0 || shape.in % packer.in_multiple != 0) {
    return "layout " + name + " cannot hold experts=" + std::to_string(shape.experts) +
           " out=" + std::to_string(shape.out) + " in=" + std::to_string(shape.in) +
           ": out is a multiple of " + std::to_string(packer.out_multiple) + ", in of " +
           std::to_string(packer.in_multiple);
  }
  const struct {
    const char* buffer;
    std::size_t bytes, due;
  } sizes[] = {{"source codes", from.codes.size(), packer.source_code_bytes(shape)},
               {"source scales", from.scales.size(), packer.source_scale_bytes(shape)},
               {"codes", to.codes.size(), packer.code_bytes(shape)},
               {"scales", to.scales.size(), packer.scale_bytes(shape)}};
  for (const auto& size : sizes) {
    if (size.bytes == size.due) continue;
    return std::string(size.buffer) + " of layout " + name + ": " + std::to_string(size.bytes) +
           " bytes, due are " + std::to_string(size.due);
  }
  packer.pack(shape, from, to);
  return std::nullopt;
}

}  // namespace moe4::gpu
