// Test support: one expert_linear call as plain vectors, its result by double arithmetic on the host, and its
// run on a device. Own tables and conversions: nothing of the kernels is used to judge them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "gpu/launch/variant.h"

namespace moe4::gpu::test {

struct LinearCase {
  LaunchShape shape;
  std::vector<float> tokens;         // [T,I], exact in BF16
  std::vector<std::uint8_t> packed;  // [E,O,I/32,16]
  std::vector<std::uint8_t> scales;  // [E,O,I/32]
  std::vector<std::int32_t> ids;     // [T,K]
  std::vector<float> mixture;        // [T,K]
  std::vector<float> shared;         // [T,O], exact in BF16

  void set_code(std::int64_t expert, std::int64_t row, std::int64_t i, unsigned code);
};

// All codes 0, scales 127, ids 0, p = 1, tokens and shared 0.
LinearCase blank_case(const LaunchShape& shape);

// Small integers and scales near 1, so that every partial sum in any order is exact in FP32.
LinearCase exact_case(const LaunchShape& shape, std::uint64_t seed);

// The formula in double, then rounded to FP32 and, for "bf16", to BF16. Right where a dot product is exact in
// double.
std::vector<float> expected_output(const LinearCase& c, std::string_view dtype);

struct LinearRun {
  LaunchOutcome outcome;
  bool planned = false;
  std::vector<float> output;
  std::vector<bool> written;  // per element
  bool inputs_unchanged = false;
};

// edit may change the launch (a wrong grid, other PTX) before it runs.
LinearRun run_linear(const Variant& variant, const LinearCase& c, Device& device,
                     const std::function<void(KernelLaunch&)>& edit = {},
                     const LaunchSettings& settings = {});

// Bits equal, or both NaN, or both zero.
bool same_value(float a, float b);

}  // namespace moe4::gpu::test
