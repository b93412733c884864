// BND-4 … BND-12: a healthy kernel, in its declared order and arithmetic, stays inside the interval, always;
// another order does not.
#include <gtest/gtest.h>

#include <string>

#include "reference/bound/bounds.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/kernel_simulation.h"

namespace moe4::test {
namespace {

struct Count {
  std::int64_t outputs = 0, outside = 0, singletons = 0, norm_outside = 0, not_norm = 0;
};

double value_of(Dtype dtype, std::uint64_t bits) {
  const ExactValue v = decode_float(format_of(dtype), bits);
  if (v.cls == ValueClass::kNan) return std::nan("");
  if (v.cls == ValueClass::kInf) return v.negative ? -HUGE_VAL : HUGE_VAL;
  const double magnitude = std::ldexp(static_cast<double>(v.significand), v.exponent);
  return v.negative ? -magnitude : magnitude;
}

bool inside(Dtype dtype, const OutputInterval& y, std::uint64_t bits) {
  const double v = value_of(dtype, bits);
  if (y.may_overflow && !std::isfinite(v)) return true;
  return value_of(dtype, y.lo) <= v && v <= value_of(dtype, y.hi);
}

std::uint64_t bits_of(const Tensor& tensor, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, tensor.data() + index * size_of(tensor.dtype()), size_of(tensor.dtype()));
  return bits;
}

void compare(const OutputBounds& bounds, const Tensor& output, Count& count) {
  for (std::size_t k = 0; k < bounds.outputs.size(); ++k) {
    const OutputInterval& y = bounds.outputs[k];
    const std::uint64_t got = bits_of(output, k);
    ++count.outputs;
    count.outside += inside(output.dtype(), y, got) ? 0 : 1;
    count.norm_outside += inside(output.dtype(), y, y.exact) ? 0 : 1;
    count.not_norm += got == y.exact ? 0 : 1;
    count.singletons += y.lo == y.hi ? 1 : 0;
  }
}

Arithmetic arithmetic(const char* order, bool rounded = false) {
  return {parse_order(order).value(), rounded, false};
}

constexpr std::array kOrders = {
    "seq", "groups(32)", "groups(8)", "lanes(32,8)+shfl", "lanes(8,4)+seq", "lanes(4,1)+shfl"};
constexpr std::array kSlots = {SlotOrder::kSharedFirst, SlotOrder::kSharedLast, SlotOrder::kBackwards,
                               SlotOrder::kHalves, SlotOrder::kFused};

// Every kind of data in every order, dtype, arithmetic and slot order. Longer runs: MOE4_BOUND_OUTPUTS in
// bound_declared_test.cc.
TEST(BoundContainment, HealthyKernelsStayInside) {
  Count all;
  std::int64_t serial = 0;
  for (const Data kind : kAllData) {
    for (const char* order : kOrders) {
      for (const Dtype x : {Dtype::kBF16, Dtype::kBF16, Dtype::kF16, Dtype::kF32}) {
        for (const bool rounded : {false, true}) {
          DataSizes sizes;
          sizes.tokens = 16;
          sizes.out = 44;
          sizes.x = x;
          sizes.s = serial % 3 == 0 ? Dtype::kF32 : x;
          sizes.p = serial % 4 == 0 ? Dtype::kBF16 : Dtype::kF32;
          sizes.in = serial % 7 == 0 ? 256 : 64;
          sizes.top_k = 1 + serial % 3;
          const DataSet set = make_data(kind, sizes, static_cast<std::uint64_t>(serial));
          const auto bounds =
              expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic(order, rounded));
          ASSERT_TRUE(bounds.ok());
          const SlotOrder slots = kSlots[static_cast<std::size_t>(serial) % kSlots.size()];
          Count count;
          compare(*bounds, simulate(set.inputs(), {parse_order(order).value(), rounded, slots}), count);
          EXPECT_EQ(count.outside, 0) << "data " << static_cast<int>(kind) << " " << order << " "
                                      << name_of(x) << " rounded " << rounded << " serial " << serial;
          EXPECT_EQ(count.norm_outside, 0);
          all.outputs += count.outputs;
          all.not_norm += count.not_norm;
          all.singletons += count.singletons;
          ++serial;
        }
      }
    }
  }
  EXPECT_GE(all.outputs, 250000);
  EXPECT_GT(all.not_norm, all.outputs / 100) << "the simulated kernels round too little to test anything";
  RecordProperty("outputs", std::to_string(all.outputs));
}

// BND-6 holds for any tree: each declared order is one.
TEST(BoundContainment, AnyOrderHoldsEveryOrder) {
  for (const Data kind : kAllData) {
    for (const Dtype x : {Dtype::kBF16, Dtype::kF32, Dtype::kF64}) {
      DataSizes sizes;
      sizes.x = x;
      sizes.s = x;
      sizes.p = x == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32;
      sizes.in = 128;
      const DataSet set = make_data(kind, sizes, 7);
      for (const bool rounded : {false, true}) {
        const auto bounds = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic("any", rounded));
        ASSERT_TRUE(bounds.ok());
        for (const char* order : kOrders) {
          Count count;
          compare(*bounds, simulate(set.inputs(), {parse_order(order).value(), rounded, SlotOrder::kFused}),
                  count);
          EXPECT_EQ(count.outside, 0)
              << "data " << static_cast<int>(kind) << " " << order << " " << name_of(x);
        }
      }
    }
  }
}

// BND-8: kernels that flush, on data with subnormal operands, products and sums.
TEST(BoundContainment, FlushingKernelsStayInside) {
  std::int64_t not_plain = 0;
  for (const Data kind : {Data::kSubnormal, Data::kHugeAndSmall, Data::kGauss, Data::kCancel}) {
    for (const Dtype x : {Dtype::kBF16, Dtype::kF32}) {
      for (const char* order : kOrders) {
        DataSizes sizes;
        sizes.x = x;
        sizes.s = x;
        const DataSet set = make_data(kind, sizes, 13);
        const Order parsed = parse_order(order).value();
        for (const bool rounded : {false, true}) {
          const auto flushing =
              expert_linear_bounds(linear_inputs(set.inputs()), {}, {parsed, rounded, true});
          ASSERT_TRUE(flushing.ok());
          const Tensor output = simulate(set.inputs(), {parsed, rounded, SlotOrder::kSharedFirst, true});
          Count count;
          compare(*flushing, output, count);
          EXPECT_EQ(count.outside, 0)
              << "data " << static_cast<int>(kind) << " " << order << " " << name_of(x);
          Count undeclared;
          compare(*expert_linear_bounds(linear_inputs(set.inputs()), {}, {parsed, rounded, false}), output,
                  undeclared);
          not_plain += undeclared.outside;
        }
      }
    }
  }
  EXPECT_GT(not_plain, 0) << "no output shows that the kernel flushes";
}

// F64 p and s with accumulation in F32: the kernel converts them first (BND-9).
TEST(BoundContainment, WideMixtureWeightsAreConverted) {
  for (const Data kind : {Data::kGauss, Data::kCancel, Data::kPositive, Data::kSubnormal}) {
    DataSizes sizes;
    sizes.x = Dtype::kF32;
    sizes.p = Dtype::kF64;
    sizes.s = Dtype::kF64;
    const DataSet set = make_data(kind, sizes, 11);
    const auto bounds = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic("seq"));
    ASSERT_TRUE(bounds.ok());
    Count count;
    compare(*bounds, simulate(set.inputs(), {parse_order("seq").value(), false, SlotOrder::kHalves}), count);
    EXPECT_EQ(count.outside, 0) << static_cast<int>(kind);
  }
}

// Terms +m, -m side by side: small prefixes in order, tall ones when a lane sees only the +m. The bound of
// `seq` must fail the kernel that runs lanes(2,1), and hold the one that runs seq.
TEST(BoundContainment, AnotherOrderFallsOutside) {
  DataSizes sizes;
  sizes.in = 4096;
  sizes.tokens = 4;
  sizes.top_k = 1;
  sizes.x = Dtype::kF32;
  sizes.s = Dtype::kF32;
  DataSet set = make_data(Data::kSlabCancel, sizes, 3);
  Random random(5);
  for (std::uint8_t& byte : set.packed_weights.as<std::uint8_t>()) byte = 0x22;
  for (std::int64_t t = 0; t < sizes.tokens; ++t) {
    for (std::int64_t i = 0; i < sizes.in; i += 2) {
      const double m = 1.0 + random.unit();
      put(set.latent_tokens, t * sizes.in + i, m);
      put(set.latent_tokens, t * sizes.in + i + 1, -m + 0x1p-20 * random.unit());
    }
  }
  const auto bounds = expert_linear_bounds(linear_inputs(set.inputs()), {}, arithmetic("seq"));
  ASSERT_TRUE(bounds.ok());
  Count seq;
  compare(*bounds, simulate(set.inputs(), {parse_order("seq").value()}), seq);
  EXPECT_EQ(seq.outside, 0);
  Count lanes;
  compare(*bounds, simulate(set.inputs(), {parse_order("lanes(2,1)+seq").value()}), lanes);
  EXPECT_GT(lanes.outside, lanes.outputs / 2);
}

}  // namespace
}  // namespace moe4::test
