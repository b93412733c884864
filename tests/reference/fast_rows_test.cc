// fast::indexed, grouped_contiguous and grouped_masked against the norm, to the bit, rows that are not
// written included.
#include <array>

#include "tests/reference/fast_kernels_guard.h"
#include "tests/reference/fast_problem.h"

namespace moe4::test {
namespace {

constexpr std::int64_t kExperts = 3, kIn = 160, kOut = 37, kRows = 18;

struct Ran {
  Tensor output;
  std::vector<std::uint8_t> written;
};

// norm and fast: callables that fill an output.
template <class Norm, class Fast>
fast::Counters expect_same_rows(const Shape& shape, const std::string& what, const Norm& norm,
                                const Fast& fast) {
  Ran expected{patterned(Dtype::kBF16, shape), {}};
  Ran got{patterned(Dtype::kBF16, shape), {}};
  fast::Counters counters;
  auto written = norm(expected.output.mutable_view());
  EXPECT_TRUE(written.ok()) << what;
  auto written_fast = fast(got.output.mutable_view(), &counters);
  EXPECT_TRUE(written_fast.ok()) << what;
  EXPECT_EQ(written.value(), written_fast.value()) << what;
  expect_same_bytes(expected.output, got.output, what);
  std::int64_t rows = 0;
  for (const std::uint8_t w : written.value()) rows += w;
  EXPECT_EQ(counters.outputs(), rows * kOut) << what;
  return counters;
}

fast::Counters contiguous(const HardSet& set, const Policy& policy, const std::string& what) {
  Tensor m_indices(Dtype::kI32, {kRows});
  for (std::int64_t r = 0; r < kRows; ++r)
    set_bits(m_indices, r, r % 5 == 4 ? 0xFFFFFFFF : static_cast<std::uint64_t>(r % kExperts));
  const GroupedContiguousInputs inputs{set.tokens.view(), set.weights(), m_indices.view()};
  return expect_same_rows(
      {kRows, kOut}, "contiguous " + what,
      [&](MutableTensorView out) { return grouped_contiguous(inputs, out, policy); },
      [&](MutableTensorView out, fast::Counters* c) {
        return fast::grouped_contiguous(inputs, out, policy, c);
      });
}

fast::Counters masked(const HardSet& set, const Policy& policy, const std::string& what) {
  Tensor masked_m(Dtype::kI32, {kExperts});
  constexpr std::array<std::uint64_t, 3> kCounts = {6, 0, 4};
  for (std::int64_t e = 0; e < kExperts; ++e) set_bits(masked_m, e, kCounts[static_cast<std::size_t>(e)]);
  const GroupedMaskedInputs inputs{set.tokens.view(), set.weights(), masked_m.view()};
  return expect_same_rows(
      {kExperts, kRows / kExperts, kOut}, "masked " + what,
      [&](MutableTensorView out) { return grouped_masked(inputs, out, policy); },
      [&](MutableTensorView out, fast::Counters* c) { return fast::grouped_masked(inputs, out, policy, c); });
}

fast::Counters by_ids(const HardSet& set, const Policy& policy, const std::string& what) {
  constexpr std::int64_t kTopK = 2;
  const AlignedRoutes aligned = align_blocks(drawn_routes(kRows, kTopK, kExperts, 3, true), kExperts, 8);
  const IndexedInputs inputs{set.tokens.view(),
                             set.weights(),
                             aligned.sorted_ids_view(),
                             aligned.expert_ids_view(),
                             aligned.num_tokens_padded_view(),
                             kTopK,
                             8};
  return expect_same_rows(
      {kRows * kTopK, kOut}, "indexed " + what,
      [&](MutableTensorView out) { return indexed(inputs, out, policy); },
      [&](MutableTensorView out, fast::Counters* c) { return fast::indexed(inputs, out, policy, c); });
}

HardSet rows_set(Hard kind, WeightFormat format, std::uint64_t seed) {
  return hard_set(kind, format, {kRows, kExperts, kIn, kOut, 1}, seed);
}

TEST(FastRows, HaveTheNormsBitsOnEveryKernelSetAndEachProofIsUsed) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    std::array<fast::Counters, kAllHard.size()> used;
    std::uint64_t seed = 0;
    for (const Hard kind : kAllHard) {
      for (const WeightFormat format : kBothFormats) {
        const HardSet set = rows_set(kind, format, ++seed);
        const std::string what = std::string(kernels->name) + " " + std::string(name_of(kind)) + " " +
                                 std::string(moe4::name_of(format));
        fast::Counters& all = used[static_cast<std::size_t>(kind)];
        all += contiguous(set, {}, what);
        all += masked(set, {}, what);
        all += by_ids(set, {}, what);
      }
      const fast::Counters& all = used[static_cast<std::size_t>(kind)];
      std::printf(
          "%-10s %-11s certified %lld, in FP32 %lld, rounding test %lld, exact %lld, non-finite %lld\n",
          std::string(kernels->name).c_str(), std::string(name_of(kind)).c_str(),
          static_cast<long long>(all.certified), static_cast<long long>(all.certified_f32),
          static_cast<long long>(all.rounding_test), static_cast<long long>(all.exact),
          static_cast<long long>(all.non_finite));
    }
    const auto of = [&](Hard kind) { return used[static_cast<std::size_t>(kind)]; };
    EXPECT_EQ(of(Hard::kGauss).certified, of(Hard::kGauss).outputs());
    // Integer digits are faster than FP32 where there are any.
    if (kernels->dot_digits == nullptr) {
      EXPECT_GT(of(Hard::kIntegers).certified_f32, 0);
    }
    EXPECT_EQ(of(Hard::kIntegers).certified + of(Hard::kIntegers).certified_f32,
              of(Hard::kIntegers).outputs());
    EXPECT_GT(of(Hard::kWide).rounding_test, 0);
    EXPECT_GT(of(Hard::kWideCancel).exact, 0);
    EXPECT_GT(of(Hard::kWideTies).exact, 0);
    EXPECT_GT(of(Hard::kNonFinite).non_finite, 0);
    EXPECT_GT(of(Hard::kExtreme).non_finite + of(Hard::kExtreme).rounding_test, 0);
  }
}

TEST(FastRows, HaveTheNormsBitsUnderEveryPolicy) {
  for (const ScaleNan scale_nan : {ScaleNan::kOcp, ScaleNan::kFormula, ScaleNan::kInf}) {
    for (const ScaleZero scale_zero : {ScaleZero::kExact, ScaleZero::kFlush}) {
      for (const Hard kind : {Hard::kNonFinite, Hard::kExtreme}) {
        for (const WeightFormat format : kBothFormats) {
          HardSet set = rows_set(kind, format, 77);
          if (format == WeightFormat::kMxfp4) set_bits(set.scales, 1, 0);
          Policy policy;
          policy.scale_nan = scale_nan;
          policy.scale_zero = scale_zero;
          contiguous(set, policy, std::string(name_of(kind)) + " " + to_string(policy));
        }
      }
    }
  }
}

// One wild row of tokens takes the certificate of the whole panel; the others have their own.
TEST(FastRows, EachRowIsCertifiedByItself) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    for (const WeightFormat format : kBothFormats) {
      HardSet set = rows_set(Hard::kIntegers, format, 5);
      for (std::int64_t i = 0; i < kIn; ++i)
        put(set.tokens, i, std::ldexp(1.0, static_cast<int>(i % 100) - 50));
      const fast::Counters used = contiguous(set, {}, "one wild row " + std::string(kernels->name));
      // Expert 0 has five rows; most pass the rounding test, and the ties among them the certificate of their
      // row.
      EXPECT_GT(used.rounding_test, 0);
      EXPECT_GT(used.certified + used.certified_f32, used.outputs() - 5 * kOut);
      EXPECT_LE(used.exact, kOut);
    }
  }
}

TEST(FastRows, TakeStridedInputs) {
  for (const WeightFormat format : kBothFormats) {
    const HardSet set = rows_set(Hard::kGauss, format, 9);
    // Rows of tokens backwards; every second expert of twice as many, and weights whose codes lie two apart.
    TensorView tokens = set.tokens.view();
    tokens.data = set.tokens.data() + (kRows - 1) * kIn * 2;
    tokens.strides = {-kIn, 1};
    const std::int64_t row = set.packed_weights.elements() / (kExperts * kOut);
    Tensor spread(set.packed_weights.dtype(), {2 * set.packed_weights.elements()});
    for (std::int64_t k = 0; k < set.packed_weights.elements(); ++k)
      set_bits(spread, 2 * k, bits_at(set.packed_weights, k));
    TensorView packed = set.packed_weights.view();
    packed.data = spread.data();
    packed.strides =
        packed.rank() == 4 ? Shape{2 * kOut * row, 2 * row, 32, 2} : Shape{2 * kOut * row, 2 * row, 2};
    const ExpertWeights weights{format, packed, set.scales.view()};
    Tensor m_indices(Dtype::kI32, {kRows});
    const GroupedContiguousInputs inputs{tokens, weights, m_indices.view()};
    expect_same_rows(
        {kRows, kOut}, "strided", [&](MutableTensorView out) { return grouped_contiguous(inputs, out); },
        [&](MutableTensorView out, fast::Counters* c) {
          return fast::grouped_contiguous(inputs, out, {}, c);
        });
  }
}

TEST(FastRows, HaveTheNormsErrorsAndLeaveTheCountersAlone) {
  const HardSet set = rows_set(Hard::kGauss, WeightFormat::kInt4, 1);
  Tensor m_indices(Dtype::kI32, {kRows});
  set_bits(m_indices, 3, 99);
  const GroupedContiguousInputs inputs{set.tokens.view(), set.weights(), m_indices.view()};
  fast::Counters counters;
  const auto refused = fast::grouped_contiguous(inputs, {}, &counters);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error(), grouped_contiguous(inputs).error());
  EXPECT_EQ(counters.outputs(), 0);
}

// Tensors that end at memory that may not be touched, and are not aligned.
TEST(FastRows, ReadNothingBehindTheTensors) {
  for (const fast::Kernels* kernels : fast::host_kernels()) {
    const KernelsGuard guard(*kernels);
    for (const WeightFormat format : kBothFormats) {
      const HardSet set = rows_set(Hard::kGauss, format, 21);
      const auto guarded = [](const Tensor& tensor, const GuardedBytes& bytes) {
        std::memcpy(bytes.data(), tensor.data(), tensor.bytes());
        TensorView view = tensor.view();
        view.data = bytes.data();
        return view;
      };
      const GuardedBytes tokens(set.tokens.bytes());
      const GuardedBytes packed(set.packed_weights.bytes());
      const GuardedBytes scales(set.scales.bytes());
      Tensor m_indices(Dtype::kI32, {kRows});
      for (std::int64_t r = 0; r < kRows; ++r)
        set_bits(m_indices, r, static_cast<std::uint64_t>(r % kExperts));
      const GroupedContiguousInputs inputs{
          guarded(set.tokens, tokens),
          {format, guarded(set.packed_weights, packed), guarded(set.scales, scales)},
          m_indices.view()};
      expect_same_rows(
          {kRows, kOut}, "guarded", [&](MutableTensorView out) { return grouped_contiguous(inputs, out); },
          [&](MutableTensorView out, fast::Counters* c) {
            return fast::grouped_contiguous(inputs, out, {}, c);
          });
    }
  }
}

// Shapes that fill no tile, block or vector.
TEST(FastRows, HaveTheNormsBitsInRandomShapes) {
  Random random(99);
  const std::vector<const fast::Kernels*> sets = fast::host_kernels();
  for (int n = 0; n < 120; ++n) {
    const KernelsGuard guard(*sets[static_cast<std::size_t>(n) % sets.size()]);
    const Hard kind = kAllHard[random.below(kAllHard.size())];
    const WeightFormat format = kBothFormats[random.below(2)];
    const DataSizes sizes{random.between(1, 23), random.between(1, 3), 32 * random.between(3, 20),
                          random.between(1, 70), 1};
    const HardSet set = hard_set(kind, format, sizes, static_cast<std::uint64_t>(n));
    Tensor m_indices(Dtype::kI32, {sizes.tokens});
    for (std::int64_t r = 0; r < sizes.tokens; ++r) {
      set_bits(m_indices, r, static_cast<std::uint32_t>(random.between(-1, sizes.experts - 1)));
    }
    const GroupedContiguousInputs inputs{set.tokens.view(), set.weights(), m_indices.view()};
    const auto norm = grouped_contiguous(inputs);
    const auto fast = fast::grouped_contiguous(inputs);
    ASSERT_TRUE(norm.ok() && fast.ok());
    const std::string what = std::string(fast::chosen_kernels().name) + " " + std::string(name_of(kind)) +
                             " " + to_string(Shape{sizes.tokens, sizes.in, sizes.out});
    expect_same_bytes(norm->output, fast->output, what);
    EXPECT_EQ(norm->written, fast->written) << what;
  }
}

// More rows than a panel holds, more outputs than a tile.
TEST(FastRows, LargerThanOnePanel) {
  const HardSet set = hard_set(Hard::kGauss, WeightFormat::kInt4, {600, 1, 64, 70, 1}, 2);
  const Tensor m_indices(Dtype::kI32, {600});
  const GroupedContiguousInputs inputs{set.tokens.view(), set.weights(), m_indices.view()};
  const auto norm = grouped_contiguous(inputs);
  const auto fast = fast::grouped_contiguous(inputs);
  ASSERT_TRUE(norm.ok() && fast.ok());
  expect_same_bytes(norm->output, fast->output, "600 rows");
}

}  // namespace
}  // namespace moe4::test
