// A project that found moe4 with find_package: one call into each exported library.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/ptx/ptx.h"
#include "oracle/case/case.h"
#include "reference/linear/mxfp4_expert_linear.h"

int main() {
  using namespace moe4;
  // The statement's first example: 32 ones times 32 weights of 1.0 is 32.
  const std::vector<float> tokens(32, 1.0f);
  const std::vector<std::uint8_t> packed(16, 0x22);
  const std::uint8_t scale = 127;
  const std::int32_t expert = 0;
  const float p = 1.0f;
  const float shared = 0.0f;
  const auto y =
      mxfp4_expert_linear({Dtype::kF32, {1, 32}, tokens.data()}, {Dtype::kU8, {1, 1, 1, 16}, packed.data()},
                          {Dtype::kU8, {1, 1, 1}, &scale}, {Dtype::kI32, {1, 1}, &expert},
                          {Dtype::kF32, {1, 1}, &p}, {Dtype::kF32, {1, 1}, &shared});
  if (!y.ok() || y->as<float>()[0] != 32.0f) return 1;

  ptx::Error error;
  if (ptx::Module::parse("garbage", "garbage", &error)) return 2;
  if (gpu::make_executor_device()->name().empty()) return 3;
  if (!oracle::parse_case("op=expert_linear weights=mxfp4 tokens=1 experts=1 top_k=1 in=32 out=1 dtype=bf16 "
                          "fill=exact8 routing=uniform seed=0x1")
           .ok()) {
    return 4;
  }
  std::puts("moe4 found by find_package: the first example gives 32");
  return 0;
}
