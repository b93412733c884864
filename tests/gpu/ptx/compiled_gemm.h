// Matrix products that nvcc compiled (compiled/gemm.cu), launched and compared with sums of small integers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ptx/ptx.h"

namespace moe4::ptx::test {

std::string gemm_text();  // the PTX: entries wgmma_64, wgmma_256, mma_64

struct Gemm {
  std::string entry = "wgmma_64";
  std::uint32_t n = 64, blocks = 1, k = 256;

  bool tensor() const { return entry != "mma_64"; }
  std::vector<int> a() const;
  std::vector<int> b() const;
};

struct Outcome {
  LaunchReport report;
  int wrong = 0;  // outputs
};

// checked: with the search for unwritten memory.
Outcome multiply(const std::string& text, const Gemm& gemm, std::uint64_t seed = 0, bool checked = false,
                 std::uint64_t budget = 0);

}  // namespace moe4::ptx::test
