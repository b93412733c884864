// Operands of a probe: f(seed, probe, operand, instance), edges and ties before everything else
// (docs/hardware.md).
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/generate/random.h"
#include "oracle/hardware/probe.h"

namespace moe4::oracle {

// For each operand in memory, its bytes: count × operand_bytes, little-endian, instance after instance.
// An immediate has none.
using ProbeOperands = std::vector<std::vector<std::byte>>;
ProbeOperands probe_operands(const Probe& probe, std::uint64_t seed, std::uint32_t count);

// The parts of that, one file each. `key` is the instance's.
std::vector<std::uint64_t> scalar_operands(const Probe& probe, Key key);
// a, b and c of one tile, as encodings.
struct TileOperands {
  std::vector<std::uint16_t> a, b;  // [m][k], [n][k]
  std::vector<std::uint32_t> c;     // [m][n]
};
// The first tiles have a planted product in row 0, column 0 (ACC-8 … ACC-15), one tile each.
TileOperands tile_operands(const Probe& probe, std::uint32_t tile, Key key);
std::size_t planted_products(const Probe& probe);

}  // namespace moe4::oracle
