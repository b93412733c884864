// Packers: weights as a case holds them, into the layout that a kernel reads. One pass over the data, whole
// words at a time; written from what the lanes of a warp load, not from the index formulas of
// docs/spec/layouts.md, which judge them (tests/reference/layout/gpu_packers_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace moe4::gpu {

// Weights [experts, out, in], groups of 32 along in.
struct WeightShape {
  std::int64_t experts = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;

  std::int64_t groups() const { return in / 32; }
};

struct PackerSource {
  // mxfp4: U8 [experts, out, groups, 16], low nibble first. int4: I32 [experts, out, in/8], element 0 lowest.
  // Both are the same bytes: element i of a row in byte i/2.
  std::span<const std::byte> codes;
  // mxfp4: U8, int4: BF16; [experts, out, groups].
  std::span<const std::byte> scales;
};
struct PackerTarget {
  std::span<std::byte> codes;
  std::span<std::byte> scales;  // empty where the scales lie among the codes
};

struct Packer {
  std::string_view layout;   // its name in docs/spec/layouts.md
  std::string_view weights;  // "mxfp4" or "int4"
  std::int64_t out_multiple;
  std::int64_t in_multiple;
  bool scales_among_codes;
  // Preconditions: the shape is legal, the spans have the sizes below and do not overlap.
  void (*pack)(const WeightShape&, const PackerSource&, const PackerTarget&);

  std::size_t scale_bytes_each() const { return weights == "int4" ? 2 : 1; }
  std::size_t source_code_bytes(const WeightShape& shape) const;
  std::size_t source_scale_bytes(const WeightShape& shape) const;
  std::size_t code_bytes(const WeightShape& shape) const;
  std::size_t scale_bytes(const WeightShape& shape) const;
};

std::span<const Packer> packers();
const Packer* find_packer(std::string_view layout);  // null if kernels read no such layout

// Checks shape and sizes, then packs. An error says which; nothing is written then.
std::optional<std::string> pack_weights(const Packer& packer, const WeightShape& shape,
                                        const PackerSource& from, const PackerTarget& to);

}  // namespace moe4::gpu
