#include "gpu/ptx/tensor_map.h"

#include <cstring>

namespace moe4::ptx {
namespace {

constexpr std::uint64_t kMark = 0x70616d34656f6dull;  // "moe4map"

struct Packed {
  std::uint64_t mark = kMark;
  std::uint64_t address = 0;
  std::uint32_t dims_less_one[5] = {};
  std::uint16_t box[5] = {};
  std::uint8_t element_bytes = 0, rank = 0;
  std::uint64_t strides[5] = {};
  std::uint8_t swizzle = 0, element = 0;
  std::uint8_t unused[6] = {};
};
static_assert(sizeof(Packed) <= kTensorMapBytes);

std::uint32_t line_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::k32B:
      return 32;
    case Swizzle::k64B:
      return 64;
    case Swizzle::k128B:
      return 128;
    default:
      return 0;
  }
}

std::uint32_t bytes_of(MapElement element) {
  switch (element) {
    case MapElement::kBits:
      return 0;
    case MapElement::kU8:
      return 1;
    case MapElement::kU16:
    case MapElement::kF16:
    case MapElement::kBF16:
      return 2;
    case MapElement::kU32:
    case MapElement::kS32:
    case MapElement::kF32:
      return 4;
    case MapElement::kU64:
    case MapElement::kS64:
    case MapElement::kF64:
      return 8;
  }
  return 0;
}

}  // namespace

std::string problem_of(const TensorMap& map) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  if (map.rank < 1 || map.rank > 5) return "rank " + number(map.rank) + " is outside 1 … 5";
  if (map.element_bytes != 1 && map.element_bytes != 2 && map.element_bytes != 4 && map.element_bytes != 8) {
    return "elements of " + number(map.element_bytes) + " bytes";
  }
  if (map.element != MapElement::kBits && bytes_of(map.element) != map.element_bytes) {
    return "an element type of " + number(bytes_of(map.element)) + " bytes for elements of " +
           number(map.element_bytes);
  }
  if (map.address % 16 != 0) return "the address is no multiple of 16";
  for (unsigned d = 0; d < map.rank; ++d) {
    const std::string where = " of dimension " + number(d);
    if (map.dims[d] < 1 || map.dims[d] > (std::uint64_t{1} << 32)) {
      return "size " + number(map.dims[d]) + where + " is outside 1 … 2^32";
    }
    if (map.box[d] < 1 || map.box[d] > 256)
      return "box " + number(map.box[d]) + where + " is outside 1 … 256";
    if (d == 0 ? map.strides[0] != map.element_bytes
               : map.strides[d] % 16 != 0 || map.strides[d] >= (std::uint64_t{1} << 40)) {
      return "stride " + number(map.strides[d]) + where +
             (d == 0 ? " is not the size of an element" : " is no multiple of 16 below 2^40");
    }
  }
  const std::uint32_t row = map.box[0] * map.element_bytes;
  if (row % 16 != 0) return "a row of the box has " + number(row) + " bytes, no multiple of 16";
  if (map.swizzle != Swizzle::kNone && row > line_of(map.swizzle)) {
    return "a row of the box has " + number(row) + " bytes, more than the swizzle's " +
           number(line_of(map.swizzle));
  }
  return {};
}

TensorMapBytes encode(const TensorMap& map) {
  Packed packed;
  packed.address = map.address;
  for (unsigned d = 0; d < 5; ++d) {
    packed.dims_less_one[d] = static_cast<std::uint32_t>(map.dims[d] - 1);
    packed.box[d] = static_cast<std::uint16_t>(map.box[d]);
    packed.strides[d] = map.strides[d];
  }
  packed.element_bytes = static_cast<std::uint8_t>(map.element_bytes);
  packed.rank = static_cast<std::uint8_t>(map.rank);
  packed.swizzle = static_cast<std::uint8_t>(map.swizzle);
  packed.element = static_cast<std::uint8_t>(map.element);
  TensorMapBytes bytes{};
  std::memcpy(bytes.data(), &packed, sizeof packed);
  return bytes;
}

std::optional<TensorMap> unpack_tensor_map(std::span<const std::byte, kTensorMapBytes> bytes) {
  Packed packed;
  std::memcpy(&packed, bytes.data(), sizeof packed);
  if (packed.mark != kMark || packed.rank < 1 || packed.rank > 5 || packed.swizzle > 3 ||
      packed.element > static_cast<std::uint8_t>(MapElement::kF64)) {
    return std::nullopt;
  }
  TensorMap map;
  map.address = packed.address;
  map.element_bytes = packed.element_bytes;
  map.rank = packed.rank;
  map.swizzle = static_cast<Swizzle>(packed.swizzle);
  map.element = static_cast<MapElement>(packed.element);
  for (unsigned d = 0; d < 5; ++d) {
    // Beyond the rank nothing is there, but what an edit may have left for a rank to come.
    if (d >= packed.rank && packed.box[d] == 0) continue;
    map.dims[d] = std::uint64_t{packed.dims_less_one[d]} + 1;
    map.box[d] = packed.box[d];
    map.strides[d] = packed.strides[d];
  }
  return map;
}

std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, kTensorMapBytes> bytes) {
  std::optional<TensorMap> map = unpack_tensor_map(bytes);
  if (!map || !problem_of(*map).empty()) return std::nullopt;
  return map;
}

}  // namespace moe4::ptx
