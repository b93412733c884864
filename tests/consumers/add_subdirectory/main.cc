// A project that has moe4 as a subdirectory and uses the reference alone.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "reference/linear/mxfp4_expert_linear.h"

int main() {
  using namespace moe4;
  const std::vector<std::uint16_t> tokens(32, 0x3F80);  // BF16 1.0
  const std::vector<std::uint8_t> packed(16, 0x33);     // 1.5
  const std::uint8_t scale = 126;                       // one half
  const std::int64_t expert = 0;
  const float p = 2.0f;
  const double shared = 1.0;
  const auto y =
      mxfp4_expert_linear({Dtype::kBF16, {1, 32}, tokens.data()}, {Dtype::kU8, {1, 1, 1, 16}, packed.data()},
                          {Dtype::kU8, {1, 1, 1}, &scale}, {Dtype::kI64, {1, 1}, &expert},
                          {Dtype::kF32, {1, 1}, &p}, {Dtype::kF64, {1, 1}, &shared});
  // 32 * 1.5 / 2 * 2 + 1 = 49 = BF16 0x4244
  if (!y.ok() || y->as<std::uint16_t>()[0] != 0x4244) return 1;
  std::puts("moe4 as a subdirectory: 49");
  return 0;
}
