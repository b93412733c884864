#include "tests/gpu/ptx/compiled_gemm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "gpu/ptx/tensor_map.h"
#include "gpu/ptx/uninitialized.h"
#include "tests/gpu/ptx/check_support.h"
#include "tests/gpu/ptx/plain_tensor_core.h"

namespace moe4::ptx::test {
namespace {

TensorMap map_of(std::uint64_t address, std::uint64_t k, std::uint64_t rows, std::uint32_t box_rows) {
  TensorMap map;
  map.address = address;
  map.dims = {k, rows};
  map.strides = {2, k * 2};
  map.box = {64, box_rows};
  map.swizzle = Swizzle::k128B;
  return map;
}

}  // namespace

std::string gemm_text() {
  std::ifstream file(std::string(MOE4_SOURCE_DIR) + "/tests/gpu/ptx/compiled/gemm_sm_90a.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<int> Gemm::a() const { return small_integers(k, 64 * k, 20); }
std::vector<int> Gemm::b() const { return small_integers(k + 1, std::size_t{n} * blocks * k, 20); }

Outcome multiply(const std::string& text, const Gemm& gemm, std::uint64_t seed, bool checked,
                 std::uint64_t budget) {
  const auto encoded = [](const std::vector<int>& values) {
    std::vector<std::uint16_t> bits;
    for (const int v : values) bits.push_back(encode_small(TensorType::kBF16, v));
    return bits;
  };
  const std::vector<int> a = gemm.a(), b = gemm.b();
  const std::vector<std::uint16_t> a_bits = encoded(a), b_bits = encoded(b);
  const std::uint32_t columns = gemm.n * gemm.blocks;
  Memory memory;
  const std::uint64_t a_at = memory.add_input("a", std::as_bytes(std::span(a_bits))),
                      b_at = memory.add_input("b", std::as_bytes(std::span(b_bits))),
                      out = memory.add_output("out", 64 * 4 * columns);
  Launch launch;
  launch.entry = gemm.entry;
  launch.grid.x = gemm.blocks;
  launch.block.x = gemm.tensor() ? 160 : 128;
  launch.parameters.resize(gemm.tensor() ? 268 : 28);
  std::size_t at = 0;
  const auto put = [&](const void* from, std::size_t bytes) {
    std::memcpy(launch.parameters.data() + at, from, bytes);
    at += bytes;
  };
  if (gemm.tensor()) {
    launch.dynamic_shared_bytes = 3 * (64 + gemm.n) * 128;
    for (const TensorMap& map : {map_of(a_at, gemm.k, 64, 64), map_of(b_at, gemm.k, columns, gemm.n)}) {
      EXPECT_EQ(problem_of(map), "");
      put(encode(map).data(), kTensorMapBytes);
    }
  } else {
    put(&a_at, 8);
    put(&b_at, 8);
  }
  put(&out, 8);
  put(&gemm.k, 4);
  Options options;
  options.tensor_core = &plain_tensor_core();
  options.host_threads = 1;
  options.instruction_budget = budget;
  if (seed != 0) options.schedule = seed;
  const Module module = parse_valid(text);
  Outcome outcome;
  outcome.report = checked ? launch_checked(module, memory, launch, options)
                           : ptx::launch(module, memory, launch, options);
  const auto got = read_all<float>(memory, out, std::size_t{64} * columns);
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t column = 0; column < columns; ++column) {
      int want = 0;
      for (std::uint32_t i = 0; i < gemm.k; ++i) want += a[row * gemm.k + i] * b[column * gemm.k + i];
      outcome.wrong += got[row * columns + column] != static_cast<float>(want);
    }
  }
  return outcome;
}

}  // namespace moe4::ptx::test
