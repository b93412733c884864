// Our description of a tensor map (what CUtensorMap describes for the hardware), in the 128 bytes that a
// kernel takes by value or by address. The bytes are our own encoding: a launch on a GPU makes the driver's
// from the same description.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace moe4::ptx {

enum class Swizzle : std::uint8_t { kNone, k32B, k64B, k128B };

// What a reduction (cp.reduce.async.bulk.tensor) takes the elements for. kBits: the map only copies.
enum class MapElement : std::uint8_t { kBits, kU8, kU16, kU32, kS32, kU64, kS64, kF16, kBF16, kF32, kF64 };

// Tile mode, interleave none, element strides 1. Dimension 0 is the fastest; unused entries are 0.
struct TensorMap {
  std::uint64_t address = 0;            // global, a multiple of 16
  std::uint32_t element_bytes = 2;      // 1, 2, 4 or 8
  std::uint32_t rank = 2;               // 1 … 5
  std::array<std::uint64_t, 5> dims{};  // 1 … 2^32 elements
  std::array<std::uint64_t, 5>
      strides{};                       // bytes; [0] is element_bytes, the others multiples of 16 below 2^40
  std::array<std::uint32_t, 5> box{};  // 1 … 256; box[0] * element_bytes a multiple of 16, and no more than a
                                       // swizzled line
  Swizzle swizzle = Swizzle::kNone;
  MapElement element = MapElement::kBits;  // of element_bytes

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

inline constexpr std::size_t kTensorMapBytes = 128;
using TensorMapBytes = std::array<std::byte, kTensorMapBytes>;

// Why the description breaks the rules above; empty: it is valid.
std::string problem_of(const TensorMap& map);

TensorMapBytes encode(const TensorMap& map);
// nullopt: the bytes were not made by encode, or describe no valid map.
std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, kTensorMapBytes> bytes);
// … whether the description is valid or not: what is being edited need not be.
std::optional<TensorMap> unpack_tensor_map(std::span<const std::byte, kTensorMapBytes> bytes);

}  // namespace moe4::ptx
