// BND-19 … BND-28: kernels of every accumulation, order, profile and dequantisation stay inside of their own
// interval; planted faults do not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "reference/bound/bounds.h"
#include "reference/profile/declared_linear.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/declared_kernel.h"

namespace moe4::test {
namespace {

constexpr std::array kOrders = {"seq",
                                "groups(32)",
                                "lanes(32,8)+shfl",
                                "lanes(4,1)+seq",
                                "warps(64,2)+tree",
                                "split(3)",
                                "streamk(2)",
                                "streamk(3)*warps(32,2)+tree",
                                "warps(32,4)+tree",
                                "split(2)*groups(16)"};
constexpr std::array kAccumulations = {"f32_sequential", "volta", "turing", "ampere", "hopper", "blackwell"};
constexpr std::array kProfiles = {RoundingProfile::kOnce, RoundingProfile::kLate,
                                  RoundingProfile::kLateBf16Sum, RoundingProfile::kHf,
                                  RoundingProfile::kEarly};

double number(Dtype dtype, std::uint64_t bits) {
  return DeclaredSimulation::to_number(decode_float(format_of(dtype), bits));
}

std::uint64_t element(const Tensor& tensor, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + index * size_of(tensor.dtype()), size_of(tensor.dtype()));
  return bits;
}

struct Tally {
  std::int64_t outputs = 0, outside = 0, singletons = 0, announced = 0, not_exact = 0;

  void add(const OutputBounds& bounds, const Tensor& output) {
    for (std::size_t k = 0; k < bounds.outputs.size(); ++k) {
      const OutputInterval& y = bounds.outputs[k];
      const std::uint64_t bits = element(output, k);
      const double v = number(output.dtype(), bits);
      ++outputs;
      announced += y.may_overflow ? 1 : 0;
      singletons += y.lo == y.hi && !y.may_overflow ? 1 : 0;
      not_exact += bits == y.exact ? 0 : 1;
      if (y.may_overflow && !std::isfinite(v)) continue;
      if (y.cls == OutputClass::kNan && std::isnan(v)) continue;
      outside += number(output.dtype(), y.lo) <= v && v <= number(output.dtype(), y.hi) ? 0 : 1;
    }
  }
};

// A set of expert linears in either format. For INT4, the MXFP4 codes are reused as nibbles and the scales
// drawn.
struct Inputs {
  DataSet set;
  Tensor words, scales;
  WeightFormat format;

  Inputs(Data kind, const DataSizes& sizes, WeightFormat weights, std::uint64_t seed)
      : set(make_data(kind, sizes, seed)), format(weights) {
    if (format == WeightFormat::kMxfp4) return;
    words = Tensor(Dtype::kI32, {sizes.experts, sizes.out, sizes.in / 8});
    scales = Tensor(Dtype::kBF16, {sizes.experts, sizes.out, sizes.in / 32});
    std::memcpy(words.data(), set.packed_weights.data(), words.bytes());
    Random random(seed + 1);
    auto bytes = set.scale_bytes.as<std::uint8_t>();
    for (std::size_t g = 0; g < bytes.size(); ++g) {
      scales.as<std::uint16_t>()[g] = static_cast<std::uint16_t>(
          (random.below(2) << 15) | (std::uint64_t{bytes[g]} << 7) | random.below(128));
    }
    if (kind == Data::kCancel || kind == Data::kSlabCancel) {  // halves that cancel have equal scales
      const auto groups = static_cast<std::size_t>(sizes.in / 32);
      for (std::size_t g = 0; g < bytes.size(); ++g) {
        if (g % groups >= groups / 2 && groups > 1) {
          scales.as<std::uint16_t>()[g] = scales.as<std::uint16_t>()[g - groups / 2];
        }
      }
    }
  }

  LinearInputs linear() const {
    const ExpertWeights weights =
        format == WeightFormat::kMxfp4
            ? ExpertWeights::mxfp4(set.packed_weights.view(), set.scale_bytes.view())
            : ExpertWeights::int4(words.view(), scales.view());
    return {set.latent_tokens.view(), weights, set.selected_experts.view(), set.mixture_weights.view(),
            set.shared_output.view()};
  }
};

std::string describe(const Arithmetic& a, Data kind, WeightFormat format, Dtype x) {
  return to_string(a.order) + " " + std::string(name_of(a.accumulation)) + " profile " +
         std::to_string(static_cast<int>(a.profile)) + " dequant " + std::string(name_of(a.dequant)) +
         (a.product_rounded ? " rounded" : "") + (a.ftz ? " ftz" : "") + " data " +
         std::to_string(static_cast<int>(kind)) + (format == WeightFormat::kInt4 ? " int4 " : " mxfp4 ") +
         std::string(name_of(x));
}

// One draw of everything that can be declared.
struct Draw {
  Arithmetic arithmetic;
  DataSizes sizes;
  Data data;
  WeightFormat format;
  bool any;  // judged by the bound of any order

  explicit Draw(std::uint64_t serial) {
    Random random(serial * 7919 + 17);
    Arithmetic& a = arithmetic;
    data = kAllData[random.below(kAllData.size())];
    format = random.below(2) == 0 ? WeightFormat::kMxfp4 : WeightFormat::kInt4;
    sizes.x = std::array{Dtype::kBF16, Dtype::kBF16, Dtype::kF16, Dtype::kF32}[random.below(4)];
    a.accumulation = parse_accumulation(kAccumulations[random.below(kAccumulations.size())]).value();
    if (a.accumulation.unit != nullptr && !multiplies(*a.accumulation.unit, sizes.x)) {
      sizes.x = Dtype::kF16;
    }
    a.order = parse_order(kOrders[random.below(kOrders.size())]).value();
    if (a.order.slicing == Order::Slicing::kStreamK && sizes.x != Dtype::kBF16) {
      a.order = parse_order("split(2)*warps(32,2)+tree").value();
    }
    a.profile = kProfiles[random.below(kProfiles.size())];
    const bool tensor = a.accumulation.unit != nullptr;
    a.product_rounded = !tensor && random.below(2) == 0;
    a.ftz = random.below(4) == 0;
    if (format == WeightFormat::kInt4) {
      a.dequant = static_cast<Int4Order>(random.below(tensor ? 10 : 11));
    } else if (sizes.x == Dtype::kBF16 && random.below(2) == 0) {
      a.weight = WeightOperand::kBf16;
    }
    sizes.tokens = 8;
    sizes.out = 24;
    sizes.in = 32 * random.between(1, 8);
    if (data == Data::kCancel || data == Data::kSlabCancel) sizes.in = 64 * random.between(1, 4);
    sizes.top_k = random.between(1, 4);
    sizes.s = random.below(2) == 0 ? sizes.x : Dtype::kF32;
    sizes.p = random.below(2) == 0 ? Dtype::kF32 : Dtype::kBF16;
    any = a.order.slicing != Order::Slicing::kStreamK && random.below(4) == 0;
    if (any && tensor) {  // BND-22: whole steps
      for (const auto& chain : plan_chains(a.order, sizes.in).chains) {
        any = any && chain.size() % static_cast<std::size_t>(a.accumulation.unit->products) == 0;
      }
    }
  }
};

// MOE4_BOUND_OUTPUTS: how many outputs; some seconds' worth by default.
std::int64_t wanted_outputs() {
  const char* text = std::getenv("MOE4_BOUND_OUTPUTS");
  return text != nullptr ? std::atoll(text) : 30000;
}

TEST(BoundDeclared, HealthyKernelsStayInside) {
  Tally all;
  for (std::uint64_t serial = 0; all.outputs < wanted_outputs(); ++serial) {
    const Draw draw(serial);
    const Inputs inputs(draw.data, draw.sizes, draw.format, serial);
    Arithmetic declared = draw.arithmetic;
    if (draw.any) declared.order = Order{};
    const auto bounds = expert_linear_bounds(inputs.linear(), {}, declared);
    ASSERT_TRUE(bounds.ok()) << bounds.error().message();
    const DeclaredKernel kernel = {draw.arithmetic, serial % 2 == 0, serial % 3 == 0, -1, 24};
    Tally tally;
    if (serial % 4 == 3) {  // the declared arithmetic to the bit
      tally.add(*bounds, declared_expert_linear(inputs.linear(), draw.arithmetic).value());
    } else {
      tally.add(*bounds, simulate(inputs.linear(), kernel));
    }
    EXPECT_EQ(tally.outside, 0) << "serial " << serial << ": "
                                << describe(draw.arithmetic, draw.data, draw.format, draw.sizes.x)
                                << (draw.any ? " any" : "");
    all.outputs += tally.outputs;
    all.outside += tally.outside;
    all.singletons += tally.singletons;
    all.announced += tally.announced;
    all.not_exact += tally.not_exact;
  }
  EXPECT_GT(all.not_exact, all.outputs / 50) << "the simulated kernels round too little to test anything";
  EXPECT_GT(all.singletons, all.outputs / 4);
  EXPECT_LT(all.announced, all.outputs / 4);
  std::cout << all.outputs << " outputs, " << all.singletons << " singletons, " << all.announced
            << " may overflow, " << all.not_exact << " not the exact value\n";
}

// Each planted fault falls outside of the interval of what is declared, on a good share of the outputs.
double share_outside(const Arithmetic& declared, const DeclaredKernel& kernel, WeightFormat format) {
  DataSizes sizes;
  sizes.tokens = 4;
  sizes.in = 256;
  sizes.out = 24;
  sizes.top_k = 4;
  const Inputs inputs(Data::kGauss, sizes, format, 5);
  const auto bounds = expert_linear_bounds(inputs.linear(), {}, declared);
  EXPECT_TRUE(bounds.ok());
  Tally tally;
  tally.add(*bounds, simulate(inputs.linear(), kernel));
  return static_cast<double>(tally.outside) / static_cast<double>(tally.outputs);
}

TEST(BoundDeclared, PlantedFaultsFallOutside) {
  for (const char* accumulation : {"f32_sequential", "hopper"}) {
    for (const WeightFormat format : {WeightFormat::kMxfp4, WeightFormat::kInt4}) {
      Arithmetic declared;
      declared.order = parse_order("seq").value();
      declared.accumulation = parse_accumulation(accumulation).value();
      EXPECT_EQ(share_outside(declared, {declared}, format), 0);
      EXPECT_GT(share_outside(declared, {declared, false, false, 77}, format), 0.2) << "one dropped product";
      EXPECT_GT(share_outside(declared, {declared, false, false, -1, 13}, format), 0.1)
          << "a 13-bit accumulator";
      for (const RoundingProfile kernel_profile : kProfiles) {
        for (const RoundingProfile judged : kProfiles) {
          if (kernel_profile == judged) continue;
          Arithmetic other = declared;
          other.profile = judged;
          Arithmetic own = declared;
          own.profile = kernel_profile;
          EXPECT_GT(share_outside(other, {own}, format), 0.05)
              << static_cast<int>(kernel_profile) << " judged as " << static_cast<int>(judged);
        }
      }
    }
  }
}

// Slabs of 64 that cancel pairwise: a chain of all columns stays small, a warp that has every second slab
// does not. A healthy kernel of 2 warps passes its own declaration and fails `seq`.
TEST(BoundDeclared, WarpsAlongIAreNotSequential) {
  for (const char* accumulation : {"f32_sequential", "hopper"}) {
    DataSizes sizes;
    sizes.tokens = 4;
    sizes.in = 2048;
    sizes.top_k = 1;
    Inputs inputs(Data::kGauss, sizes, WeightFormat::kMxfp4, 3);
    Random random(8);
    for (std::uint8_t& byte : inputs.set.packed_weights.as<std::uint8_t>()) byte = 0x22;
    for (std::uint8_t& byte : inputs.set.scale_bytes.as<std::uint8_t>()) byte = 127;
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      for (std::int64_t i = 0; i < sizes.in; ++i) {
        const bool second = (i / 64) % 2 == 1;
        double v = second ? 0 : 0x1p-9 * random.gauss();
        if (i % 128 == 63) v = 256;
        if (i % 128 == 64) v = -256;
        put(inputs.set.latent_tokens, t * sizes.in + i, v);
      }
      put(inputs.set.mixture_weights, t, 1.0);
    }
    for (std::int64_t k = 0; k < sizes.tokens * sizes.out; ++k) put(inputs.set.shared_output, k, 0.0);

    Arithmetic warps;
    warps.order = parse_order("warps(64,2)+tree").value();
    warps.accumulation = parse_accumulation(accumulation).value();
    Arithmetic seq = warps;
    seq.order = parse_order("seq").value();
    const Tensor output = simulate(inputs.linear(), DeclaredKernel{warps});
    Tally own;
    own.add(*expert_linear_bounds(inputs.linear(), {}, warps), output);
    EXPECT_EQ(own.outside, 0);
    Tally other;
    other.add(*expert_linear_bounds(inputs.linear(), {}, seq), output);
    EXPECT_GT(other.outside, other.outputs / 4) << accumulation;
  }
}

TEST(BoundDeclared, MoreSlicesThanAreOrderedAreBoundedInAnyOrder) {
  DataSizes sizes;
  sizes.in = 512;
  sizes.top_k = 1;
  const Inputs inputs(Data::kGauss, sizes, WeightFormat::kInt4, 4);
  Arithmetic arithmetic;
  arithmetic.order = parse_order("streamk(5)").value();
  const auto bounds = expert_linear_bounds(inputs.linear(), {}, arithmetic);
  ASSERT_TRUE(bounds.ok()) << bounds.error().message();
  Tally tally;
  tally.add(*bounds, simulate(inputs.linear(), DeclaredKernel{arithmetic}));
  EXPECT_EQ(tally.outside, 0);
}

TEST(BoundDeclared, ExactAccumulationHasOneValue) {
  for (const RoundingProfile profile : kProfiles) {
    for (const Data data : kAllData) {
      const Inputs inputs(data, {}, WeightFormat::kInt4, 6);
      Arithmetic arithmetic;
      arithmetic.profile = profile;
      arithmetic.accumulation = parse_accumulation("exact").value();
      const auto bounds = expert_linear_bounds(inputs.linear(), {}, arithmetic);
      ASSERT_TRUE(bounds.ok()) << bounds.error().message();
      EXPECT_EQ(bounds->singleton_share, 1.0);
      const auto declared = declared_expert_linear(inputs.linear(), arithmetic);
      for (std::size_t k = 0; k < bounds->outputs.size(); ++k) {
        EXPECT_EQ(bounds->outputs[k].exact, element(*declared, k));
      }
    }
  }
}

TEST(BoundDeclared, WhatNothingCanComputeIsRefused) {
  const Inputs inputs(Data::kGauss, {}, WeightFormat::kMxfp4, 1);
  Arithmetic arithmetic;
  arithmetic.dequant = Int4Order::kFma;
  const auto bounds = expert_linear_bounds(inputs.linear(), {}, arithmetic);
  ASSERT_FALSE(bounds.ok());
  EXPECT_EQ(bounds.error().field, "dequant");
}

}  // namespace
}  // namespace moe4::test
