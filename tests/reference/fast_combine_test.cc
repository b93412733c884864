// fast::combine against the norm, to the bit, in all dtypes.
#include "tests/reference/fast_problem.h"

namespace moe4::test {
namespace {

constexpr std::int64_t kTokens = 9, kTopK = 4, kOut = 21;

enum class Values { kGauss, kIntegers, kWide, kNonFinite, kExtreme };

double value_of(Values kind, Random& random) {
  switch (kind) {
    case Values::kGauss:
      return random.gauss();
    case Values::kIntegers:
      return static_cast<double>(random.between(-2, 2));
    case Values::kWide:
      return std::ldexp(random.gauss(), static_cast<int>(random.between(-100, 20)));
    case Values::kNonFinite:
      return random.below(9) == 0 ? random.sign() * HUGE_VAL : random.gauss();
    case Values::kExtreme:
      return random.sign() * (random.below(2) == 0 ? 0x1.8p127 : 0x1p-133);
  }
  return 0;
}

void put_any(Tensor& tensor, std::int64_t index, double value, Random& random) {
  if (std::isinf(value)) return set_bits(tensor, index, encode(tensor.dtype(), value));
  if (tensor.dtype() == Dtype::kF64 && std::fabs(value) > 0x1p120)
    value = random.below(2) == 0 ? 0x1p1000 : -0x1p-1060;
  put(tensor, index, value);
}

TEST(FastCombine, HasTheNormsBits) {
  constexpr Dtype kDtypes[] = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  fast::Counters all;
  std::uint64_t seed = 0;
  for (const Values kind :
       {Values::kGauss, Values::kIntegers, Values::kWide, Values::kNonFinite, Values::kExtreme}) {
    for (const Dtype p : kDtypes) {
      for (const Dtype s : kDtypes) {
        Random random(++seed);
        Tensor rows(Dtype::kBF16, {kTokens * kTopK, kOut});
        Tensor weights(p, {kTokens, kTopK});
        Tensor shared(s, {kTokens, kOut});
        Tensor ids(Dtype::kI32, {kTokens, kTopK});
        for (std::int64_t k = 0; k < rows.elements(); ++k) put_any(rows, k, value_of(kind, random), random);
        for (std::int64_t k = 0; k < weights.elements(); ++k) {
          put_any(weights, k, random.below(6) == 0 ? 0.0 : value_of(kind, random), random);
          set_bits(ids, k, random.below(4) == 0 || k < kTopK ? 0xFFFFFFFF : 1);  // token 0 has no slot at all
        }
        for (std::int64_t k = 0; k < shared.elements(); ++k)
          put_any(shared, k, value_of(kind, random), random);
        set_bits(shared, 0, std::uint64_t{1} << (8 * size_of(s) - 1));  // -0 stays
        for (const Dtype out : kDtypes) {
          for (const SkipZeroP skip : {SkipZeroP::kNo, SkipZeroP::kYes}) {
            Policy policy;
            policy.skip_zero_p = skip;
            const CombineInputs inputs{rows.view(), weights.view(), ids.view(), shared.view()};
            Tensor norm = patterned(out, {kTokens, kOut});
            Tensor fast = norm;
            ASSERT_FALSE(combine(inputs, norm.mutable_view(), policy));
            ASSERT_FALSE(fast::combine(inputs, fast.mutable_view(), policy, &all));
            expect_same_bytes(norm, fast, std::to_string(seed) + " " + std::string(name_of(out)));
          }
        }
      }
    }
  }
  EXPECT_GT(all.certified, 0);
  EXPECT_GT(all.rounding_test, 0);
  EXPECT_GT(all.exact, 0);
  EXPECT_GT(all.non_finite, 0);
}

TEST(FastCombine, HasTheNormsErrors) {
  const Tensor rows(Dtype::kBF16, {4, 3});
  const Tensor weights(Dtype::kF32, {2, 2});
  const Tensor shared(Dtype::kF32, {2, 3});
  const Tensor wrong(Dtype::kF32, {2, 4});
  const CombineInputs inputs{rows.view(), weights.view(), std::nullopt, shared.view()};
  EXPECT_EQ(fast::combine(inputs, Dtype::kU8).error(), combine(inputs, Dtype::kU8).error());
  const CombineInputs bad{rows.view(), weights.view(), std::nullopt, wrong.view()};
  EXPECT_EQ(fast::combine(bad, Dtype::kF32).error(), combine(bad, Dtype::kF32).error());
}

}  // namespace
}  // namespace moe4::test
