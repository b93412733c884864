#include "tests/support/slow_model/tensor_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/support/problems/build_problem.h"

namespace slow_model {
namespace {

const Generation& generation(const std::string& name) {
  for (const Generation& g : generations()) {
    if (g.name == name) return g;
  }
  ADD_FAILURE() << name;
  return generations().front();
}

using Products = std::vector<std::pair<double, double>>;

std::uint32_t step(const std::string& name, const FloatFormat& format, double c, const Products& products) {
  std::vector<std::uint64_t> a;
  std::vector<std::uint64_t> b;
  for (const auto& [left, right] : products) {
    a.push_back(problems::bits_of(format, left));
    b.push_back(problems::bits_of(format, right));
  }
  const Generation& g = generation(name);
  a.resize(static_cast<std::size_t>(g.products), 0);
  b.resize(static_cast<std::size_t>(g.products), 0);
  return TensorStep().step(g, format, a, b, static_cast<std::uint32_t>(problems::bits_of(kF32, c)));
}

std::uint32_t bits(double value) { return static_cast<std::uint32_t>(problems::bits_of(kF32, value)); }

// The table at the end of docs/spec/accumulation.md, row by row.
TEST(SlowTensorStep, FiveGenerations) {
  const Products products = {{-0x1p13, 0x1p10}, {-0.5, 1}, {-0.25, 1}, {-0.125, 1}};
  EXPECT_EQ(step("volta", kF16, 0x1p23, products), bits(0.0));
  for (const char* name : {"turing", "ampere", "ada"}) {
    EXPECT_EQ(step(name, kF16, 0x1p23, products), bits(-0.5)) << name;
  }
  for (const char* name : {"hopper", "blackwell"}) {
    EXPECT_EQ(step(name, kF16, 0x1p23, products), bits(-0.75)) << name;
  }
}

TEST(SlowTensorStep, HopperInBf16) {
  const auto hopper = [](double c, const Products& products) { return step("hopper", kBf16, c, products); };
  EXPECT_EQ(hopper(1, {{0x1p-25, 1}, {-0x1p-26, 1}}), 0x3F800000u);
  EXPECT_EQ(hopper(-1, {{-1, 0x1p-23}, {-1, 0x1p-24}}), 0xBF800001u);
  EXPECT_EQ(hopper(0x1p-25, {{1.5, 1.5}, {-1.5, 1.5}}), 0x33000000u);
  EXPECT_EQ(hopper(0x1p-52, {{0x1p-133, 0x1p100}, {-0x1p-133, 0x1p100}}), 0u);
  EXPECT_EQ(hopper(0, {{0, 0x1p127}, {1, 0x1p-25}}), 0x33000000u);
  EXPECT_EQ(hopper(0, {{0x1p-23, 0x1p-126}, {-0x1p-24, 0x1p-126}}), 0u);
  EXPECT_EQ(hopper(0, {{0x1p-23, 0x1p-126}, {-0x1p-33, 0x1p-126}}), 1u);
  EXPECT_EQ(hopper(0, {{0x3p-75, 0x1p-75}}), 1u);
  EXPECT_EQ(hopper(0x1.fffffep127, {{0x1p52, 0x1p51}}), 0x7F7FFFFFu);
  EXPECT_EQ(hopper(0x1.fffffep127, {{0x1p52, 0x1p52}}), 0x7F800000u);
  EXPECT_EQ(hopper(0, {{0x1p127, 0x1p127}, {-0x1p127, 0x1p127}, {1, 1}}), 0u);
  EXPECT_EQ(hopper(-0.0, {}), 0u);
  EXPECT_EQ(hopper(1, {{INFINITY, 0}}), 0x7FFFFFFFu);
  EXPECT_EQ(hopper(-INFINITY, {{INFINITY, 1}}), 0x7FFFFFFFu);
  EXPECT_EQ(hopper(-INFINITY, {{NAN, 1}}), 0x7FFFFFFFu);
  EXPECT_EQ(hopper(1, {{-INFINITY, 1}}), 0xFF800000u);
}

// ACC-7: five products on Volta are two steps, the second one filled up.
TEST(SlowTensorStep, AChainIsCutIntoSteps) {
  const std::vector<std::uint64_t> ones(5, kF16.one());
  EXPECT_EQ(TensorStep().chain(generation("volta"), kF16, ones, ones), bits(5.0));
  EXPECT_EQ(TensorStep().chain(generation("volta"), kF16, {}, {}), 0u);
}

}  // namespace
}  // namespace slow_model
