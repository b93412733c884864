// 17-byte blocks: scale byte, then byte j with element j below and element j+16 above.
#include "gpu/layout/bits.h"
#include "gpu/layout/packers.h"

namespace moe4::gpu {

void pack_gguf(const WeightShape&, const PackerSource& from, const PackerTarget& to) {
  const std::byte* codes = from.codes.data();
  std::byte* block = to.codes.data();
  for (const std::byte scale : from.scales) {
    block[0] = scale;
    for (int half = 0; half < 2; ++half) {
      const std::uint64_t low = nibbles_to_bytes(load<std::uint32_t>(codes + 4 * half));
      const std::uint64_t high = nibbles_to_bytes(load<std::uint32_t>(codes + 8 + 4 * half));
      store(block + 1 + 8 * half, low | high << 4);
    }
    codes += 16;
    block += 17;
  }
}

}  // namespace moe4::gpu
