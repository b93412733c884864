// What a declared arithmetic evaluates to lies in the interval that its bound proves: two parts of the
// reference that share the rules and the chains, and nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "reference/accumulate/tensor_core.h"
#include "reference/bound/bounds.h"
#include "reference/profile/declared_linear.h"
#include "reference/profile/declared_rows.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/kernel_simulation.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

bool inside(const OutputInterval& interval, const Tensor& y, std::int64_t n) {
  const double v = simulation::number(y.view(), n);
  const auto number = [&](std::uint64_t bits) {
    Tensor one(y.dtype(), {1});
    std::memcpy(one.data(), &bits, one.bytes());
    return simulation::number(one.view(), 0);
  };
  if (v >= number(interval.lo) && v <= number(interval.hi)) return true;
  if (interval.may_overflow && !std::isfinite(v)) return true;
  return interval.cls == OutputClass::kNan && std::isnan(v);
}

struct Count {
  std::int64_t outputs = 0;
  std::int64_t outside = 0;
};

void compare(const Result<OutputBounds>& bounds, const Tensor& y, const std::string& what, Count& count) {
  ASSERT_TRUE(bounds.ok()) << what << ": " << bounds.error().message();
  for (std::size_t n = 0; n < bounds->outputs.size(); ++n) {
    if (!bounds->written.empty() && bounds->written[n / static_cast<std::size_t>(bounds->out)] == 0) continue;
    ++count.outputs;
    if (!inside(bounds->outputs[n], y, static_cast<std::int64_t>(n))) ++count.outside;
  }
}

constexpr std::array kOrders = {"any",
                                "seq",
                                "groups(32)",
                                "lanes(32,2)+shfl",
                                "warps(16,4)+tree",
                                "split(3)",
                                "streamk(2)",
                                "streamk(3)*warps(16,2)+tree"};
constexpr std::array kProfiles = {"once", "late", "late_bf16_sum", "hf", "early"};

std::vector<std::string> accumulations() {
  std::vector<std::string> names = {"exact", "f32_sequential"};
  for (const TensorCore& unit : tensor_cores()) names.emplace_back(unit.name);
  return names;
}

TEST(ProfileBounds, ExpertLinearIsInside) {
  Count count;
  std::uint64_t seed = 1;
  for (const Data kind : kAllData) {
    for (const Dtype dtype : {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}) {
      for (const std::string& accumulation : accumulations()) {
        for (const char* profile : kProfiles) {
          ++seed;
          std::string text = std::string("profile=") + profile + " order=" + kOrders[seed % 8] +
                             " accumulation=" + accumulation;
          if (seed % 3 == 0 && accumulation != "exact") text += " ftz=yes";
          if (seed % 5 == 0 && accumulation == "f32_sequential") text += " products=rounded";
          if (seed % 7 == 0) text += " weight=bf16";
          DataSizes sizes;
          sizes.tokens = 2;
          sizes.out = 4;
          sizes.in = 96;
          sizes.top_k = 3;
          sizes.x = sizes.s = dtype;
          const DataSet set = make_data(kind, sizes, seed);
          const LinearInputs in = linear_inputs(set.inputs());
          const Arithmetic a = *parse_arithmetic(text);
          if (check_arithmetic(a, {dtype, WeightFormat::kMxfp4})) continue;
          const Result<Tensor> y = declared_expert_linear(in, a);
          ASSERT_TRUE(y.ok()) << text;
          compare(expert_linear_bounds(in, {}, a), *y, text, count);
          if (HasFatalFailure()) return;
          EXPECT_EQ(count.outside, 0) << text << " " << name_of(dtype) << " data " << static_cast<int>(kind);
          count.outside = 0;
        }
      }
    }
  }
  EXPECT_GT(count.outputs, 5000);
}

TEST(ProfileBounds, Int4RowsAreInside) {
  Count count;
  std::uint64_t seed = 1;
  for (const Int4OrderInfo& dequant : int4_orders()) {
    for (const std::string& accumulation : accumulations()) {
      for (int times = 0; times < 4; ++times) {
        const std::string text = std::string("order=") + kOrders[++seed % 8] +
                                 " accumulation=" + accumulation + " dequant=" + std::string(dequant.name);
        const Arithmetic a = *parse_arithmetic(text);
        if (check_arithmetic(a, {Dtype::kBF16, WeightFormat::kInt4})) continue;
        const Layer layer = drawn_layer(WeightFormat::kInt4, 4, 2, 192, 4, seed);
        const std::int32_t index[] = {0, 1, -1, 1};
        const GroupedContiguousInputs in = {
            layer.tokens.view(), layer.weights(), {Dtype::kI32, {4}, index, {}}};
        const Result<RowsResult> y = declared_grouped_contiguous(in, a);
        ASSERT_TRUE(y.ok()) << text;
        compare(grouped_contiguous_bounds(in, {}, a), y->output, text, count);
        if (HasFatalFailure()) return;
        EXPECT_EQ(count.outside, 0) << text;
        count.outside = 0;
      }
    }
  }
  EXPECT_GT(count.outputs, 2500);
}

// The twin: what another arithmetic computes is outside of the interval for some outputs.
TEST(ProfileBounds, AnotherArithmeticIsNot) {
  DataSizes sizes;
  sizes.in = 256;
  sizes.out = 16;
  sizes.top_k = 4;
  const DataSet set = make_data(Data::kGauss, sizes, 5);
  const LinearInputs in = linear_inputs(set.inputs());
  const auto outside = [&](const char* declared, const char* computed) {
    Count count;
    const Result<Tensor> y = declared_expert_linear(in, *parse_arithmetic(computed));
    EXPECT_TRUE(y.ok());
    compare(expert_linear_bounds(in, {}, *parse_arithmetic(declared)), *y, declared, count);
    return count.outside;
  };
  for (const char* declared : kProfiles) {
    for (const char* computed : kProfiles) {
      const std::string order = " order=seq accumulation=hopper";
      const std::int64_t wrong = outside(("profile=" + std::string(declared) + order).c_str(),
                                         ("profile=" + std::string(computed) + order).c_str());
      if (declared == computed) {
        EXPECT_EQ(wrong, 0) << declared;
      } else {
        EXPECT_GT(wrong, 0) << computed << " declared as " << declared;
      }
    }
  }
  EXPECT_GT(outside("order=split(2)", "order=streamk(2)"), 0);
  EXPECT_GT(outside("order=streamk(2)", "order=split(2)"), 0);
}

}  // namespace
}  // namespace moe4::test
