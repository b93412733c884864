#include "oracle/hardware/probe_operands.h"

#include <cstring>

namespace moe4::oracle {
namespace {

Key key_of(const Probe& probe, std::uint64_t seed) {
  Key key = Key::from_seed(seed);
  for (const char c : probe.name) key = key(c);
  return key;
}

template <class T>
void append(std::vector<std::byte>& to, const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  to.insert(to.end(), bytes, bytes + values.size() * sizeof(T));
}

}  // namespace

ProbeOperands probe_operands(const Probe& probe, std::uint64_t seed, std::uint32_t count) {
  ProbeOperands all(probe.operands.size());
  const Key root = key_of(probe, seed);
  for (std::uint32_t instance = 0; instance < count; ++instance) {
    const Key key = root(instance);
    if (probe.form == Probe::Form::kScalar) {
      const std::vector<std::uint64_t> values = scalar_operands(probe, key);
      for (std::size_t n = 0; n < values.size(); ++n) {
        const auto* bytes = reinterpret_cast<const std::byte*>(&values[n]);
        all[n].insert(all[n].end(), bytes, bytes + probe.operand_bytes(n));
      }
      continue;
    }
    const TileOperands tile = tile_operands(probe, instance, key);
    append(all[0], tile.a);
    append(all[1], tile.b);
    append(all[2], tile.c);
  }
  return all;
}

}  // namespace moe4::oracle
