// fast::expert_linear against the norm: every kind of data, format and dtype, to the bit.
#include "tests/reference/fast_problem.h"

namespace moe4::test {
namespace {

std::string text(Hard kind, WeightFormat format, Dtype x, Dtype p, Dtype s) {
  return std::string(name_of(kind)) + " " + std::string(moe4::name_of(format)) +
         " x=" + std::string(name_of(x)) + " p=" + std::string(name_of(p)) + " s=" + std::string(name_of(s));
}

TEST(FastExpertLinear, HasTheNormsBits) {
  constexpr Dtype kDtypes[] = {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64};
  std::uint64_t seed = 1;
  for (const Hard kind : kAllHard) {
    fast::Counters all;
    for (const WeightFormat format : kBothFormats) {
      for (const Dtype x : kDtypes) {
        const Dtype p = kDtypes[seed % 4];
        const Dtype s = kDtypes[(seed / 4) % 4];
        const DataSizes sizes{5, 3, 160, 37, 3, x, p, s};
        const HardSet set = hard_set(kind, format, sizes, ++seed);
        all += expect_same_expert_linear(set.linear(), {}, text(kind, format, x, p, s));
      }
    }
    std::printf("%-12s certified %lld, f32 %lld, rounding test %lld, exact %lld, non-finite %lld\n",
                std::string(name_of(kind)).c_str(), static_cast<long long>(all.certified),
                static_cast<long long>(all.certified_f32), static_cast<long long>(all.rounding_test),
                static_cast<long long>(all.exact), static_cast<long long>(all.non_finite));
  }
}

}  // namespace
}  // namespace moe4::test
