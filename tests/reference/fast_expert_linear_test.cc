// fast::expert_linear against the norm: every kind of data, format and dtype, to the bit.
#include "tests/reference/fast_kernels_guard.h"
#include "tests/reference/fast_problem.h"

namespace moe4::test {
namespace {

std::string text(Hard kind, WeightFormat format, Dtype x, Dtype p, Dtype s) {
  return std::string(name_of(kind)) + " " + std::string(moe4::name_of(format)) +
         " x=" + std::string(name_of(x)) + " p=" + std::string(name_of(p)) + " s=" + std::string(name_of(s));
}

TEST(FastExpertLinear, HasTheNormsBitsOnEveryKernelSetAndEachProofIsUsed) {
  constexpr Dtype kDtypes[] = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    std::uint64_t seed = 1;
    for (const Hard kind : kAllHard) {
      fast::Counters all;
      for (const WeightFormat format : kBothFormats) {
        for (const Dtype x : {Dtype::kBF16, Dtype::kF16, Dtype::kF32}) {
          const Dtype p = kDtypes[seed % 4];
          const Dtype s = kDtypes[(seed / 4) % 4];
          const HardSet set = hard_set(kind, format, {5, 3, 160, 37, 3, x, p, s}, ++seed);
          const std::string what = std::string(kernels->name) + " " + text(kind, format, x, p, s);
          all += expect_same_expert_linear(set.linear(), {}, what);
        }
      }
      std::printf("%-10s %-11s certified %lld, rounding test %lld, exact %lld, non-finite %lld\n",
                  std::string(kernels->name).c_str(), std::string(name_of(kind)).c_str(),
                  static_cast<long long>(all.certified), static_cast<long long>(all.rounding_test),
                  static_cast<long long>(all.exact), static_cast<long long>(all.non_finite));
      if (kind == Hard::kIntegers) {
        EXPECT_EQ(all.certified, all.outputs());
      }
      if (kind == Hard::kGauss) {  // F32 tokens sometimes need more than 53 bits
        EXPECT_GT(all.certified, all.outputs() * 9 / 10);
      }
      if (kind == Hard::kWide) {
        EXPECT_GT(all.rounding_test, 0);
      }
      if (kind == Hard::kWideTies) {
        EXPECT_GT(all.exact, 0);
      }
      if (kind == Hard::kNonFinite) {
        EXPECT_GT(all.non_finite, 0);
      }
    }
  }
}

TEST(FastExpertLinear, F64TokensGoToTheExactAccumulator) {
  for (const WeightFormat format : kBothFormats) {
    for (const Hard kind : {Hard::kGauss, Hard::kNonFinite}) {
      const HardSet set = hard_set(kind, format, {2, 3, 96, 5, 2, Dtype::kF64, Dtype::kF64, Dtype::kF32}, 8);
      const fast::Counters used = expect_same_expert_linear(set.linear(), {}, "F64");
      EXPECT_EQ(used.exact, used.outputs());
    }
  }
}

// Slots that are absent or skipped, a token without any, and a shared output of -0 (LIN-7).
TEST(FastExpertLinear, HasTheNormsBitsUnderEveryPolicyOfSlots) {
  for (const Ids ids : {Ids::kError, Ids::kAbsent}) {
    for (const SkipZeroP skip : {SkipZeroP::kNo, SkipZeroP::kYes}) {
      HardSet set = hard_set(Hard::kNonFinite, WeightFormat::kMxfp4, {8, 3, 64, 9, 2}, 4);
      for (std::int64_t k = 0; k < 16; k += 3) put(set.mixture_weights, k, 0);
      if (ids == Ids::kAbsent) {
        for (const std::int64_t k : {2, 3, 8, 9, 12}) set_bits(set.selected_experts, k, 0xFFFFFFFF);
      }
      for (std::int64_t o = 0; o < 9; ++o) put(set.shared_output, 9 + o, -0.0);
      Policy policy;
      policy.ids = ids;
      policy.skip_zero_p = skip;
      expect_same_expert_linear(set.linear(), policy, to_string(policy));
    }
  }
}

TEST(FastExpertLinear, EmptyShapesAndErrorsAreTheNorms) {
  for (const DataSizes& sizes :
       {DataSizes{0, 2, 32, 4, 2}, DataSizes{3, 2, 32, 0, 2}, DataSizes{3, 2, 32, 4, 0}}) {
    const Tensor x(Dtype::kBF16, {sizes.tokens, 32});
    const Tensor packed(Dtype::kI32, {2, sizes.out, 4});
    const Tensor scales(Dtype::kBF16, {2, sizes.out, 1});
    const Tensor ids(Dtype::kI64, {sizes.tokens, sizes.top_k});
    const Tensor p(Dtype::kF16, {sizes.tokens, sizes.top_k});
    Tensor shared(Dtype::kF32, {sizes.tokens, sizes.out});
    for (std::int64_t k = 0; k < shared.elements(); ++k) put(shared, k, k % 2 == 0 ? -0.0 : 1.0 + 0x1p-8);
    expect_same_expert_linear(
        {x.view(), ExpertWeights::int4(packed.view(), scales.view()), ids.view(), p.view(), shared.view()},
        {}, "empty");
  }
  HardSet set = hard_set(Hard::kGauss, WeightFormat::kInt4, {3, 2, 32, 4, 2}, 1);
  set_bits(set.selected_experts, 1, 7);
  const auto refused = fast::expert_linear(set.linear());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error(), expert_linear(set.linear()).error());
}

}  // namespace
}  // namespace moe4::test
