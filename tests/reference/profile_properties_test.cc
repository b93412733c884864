// PRO-22, PRO-23: with nothing rounded the declared arithmetic is the norm; on exact8 data every arithmetic
// is. And the F32 evaluation against kernels simulated in host floats.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "reference/accumulate/tensor_core.h"
#include "reference/profile/declared_combine.h"
#include "reference/profile/declared_linear.h"
#include "reference/profile/declared_rows.h"
#include "reference/routing/grouped_rows.h"
#include "tests/reference/adversarial_data.h"
#include "tests/reference/kernel_simulation.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

constexpr std::array<std::string_view, 5> kProfiles = {"once", "late", "late_bf16_sum", "hf", "early"};
constexpr std::array<std::string_view, 16> kOrders = {"any",
                                                      "seq",
                                                      "groups(32)",
                                                      "groups(7)",
                                                      "lanes(32,8)+shfl",
                                                      "lanes(5,3)+seq",
                                                      "warps(64,2)+tree",
                                                      "warps(16,4)+tree",
                                                      "split(2)",
                                                      "split(3)",
                                                      "split(2)*warps(16,2)+tree",
                                                      "split(3)*lanes(8,1)+shfl",
                                                      "streamk(1)",
                                                      "streamk(2)",
                                                      "streamk(3)",
                                                      "streamk(2)*warps(16,2)+tree"};

std::vector<Accumulation> accumulations() {
  std::vector<Accumulation> all;
  for (const char* name : {"exact", "f32_sequential"}) all.push_back(parse_accumulation(name).value());
  for (const TensorCore& unit : tensor_cores()) all.push_back({Accumulation::Kind::kTensorCore, &unit});
  return all;
}

// Every profile × order × accumulation, the rest drawn, that check_arithmetic lets pass.
std::vector<Arithmetic> all_arithmetics(const ArithmeticUse& use, std::uint64_t seed) {
  // The orders of dequantisation that are the norm where nothing rounds.
  constexpr Int4Order kDequants[] = {
      Int4Order::kNorm,     Int4Order::kFma,         Int4Order::kTwoRoundings,
      Int4Order::kTruncate, Int4Order::kTiesAway,    Int4Order::kF32Scale,
      Int4Order::kExactW,   Int4Order::kF16Multiply, Int4Order::kAccumulatorScale};
  Random random(seed);
  std::vector<Arithmetic> all;
  for (const std::string_view profile : kProfiles) {
    for (const std::string_view order : kOrders) {
      for (const Accumulation& accumulation : accumulations()) {
        for (int tries = 0; tries < 100; ++tries) {
          Arithmetic a;
          a.profile = parse_rounding_profile(profile).value();
          a.order = parse_order(order).value();
          a.accumulation = accumulation;
          a.product_rounded = random.below(2) == 1;
          a.ftz = random.below(2) == 1;
          a.weight = random.below(2) == 1 ? WeightOperand::kBf16 : WeightOperand::kExact;
          a.dequant = use.weights == WeightFormat::kInt4 ? kDequants[random.below(9)] : Int4Order::kNorm;
          if (check_arithmetic(a, use)) continue;
          all.push_back(a);
          break;
        }
      }
    }
  }
  return all;
}

// Sums of magnitudes of at most 2^8 units of 2^-3: three columns with |w·x| <= 4 a row, |p| <= 1/2 three
// times, |s| <= 12; that is 18 + 12 <= 32. Zero tokens, p, weights and shared outputs of both signs are among
// it.
struct Exact8 {
  Exact8(WeightFormat format, Dtype x_dtype, std::uint64_t seed)
      : layer(format, kTokens, kExperts, kIn, kOut),
        x(x_dtype, {kTokens, kIn}),
        ids(Dtype::kI32, {kTokens, kTopK}),
        p(Dtype::kF32, {kTokens, kTopK}),
        s(x_dtype, {kTokens, kOut}) {
    Random random(seed);
    const auto signed_of = [&](double v) { return random.sign() * v; };
    for (std::int64_t n = 0; n < x.elements(); ++n) {
      set(x, n, signed_of(static_cast<double>(1 + random.below(2))));
      if (random.below(8) == 0) set(x, n, signed_of(0));
      set(layer.tokens, n, signed_of(static_cast<double>(1 + random.below(2))));
    }
    const bool mxfp4 = format == WeightFormat::kMxfp4;
    for (std::int64_t e = 0; e < kExperts; ++e) {
      layer.scale_bits(e, mxfp4 ? 127 : random.below(2) << 15 | 0x3F80);
      for (std::int64_t o = 0; o < kOut; ++o) {
        for (std::int64_t i = 0; i < kIn; ++i) {
          layer.code(e, o, i, static_cast<std::uint8_t>(mxfp4 ? 8 * random.below(2) : 8));
        }
        for (int atom = 0; atom < 3; ++atom) {
          const auto i = static_cast<std::int64_t>(random.below(kIn));
          const std::uint64_t magnitude = random.below(mxfp4 ? 4 : 2) + 1;  // 1/2, 1, 3/2, 2; or 1, 2
          const std::uint64_t code = mxfp4 ? magnitude + 8 * random.below(2)
                                           : (random.below(2) == 0 ? 8 + magnitude : 8 - magnitude);
          layer.code(e, o, i, static_cast<std::uint8_t>(code));
        }
      }
    }
    for (std::int64_t n = 0; n < ids.elements(); ++n) {
      ids.as<std::int32_t>()[n] = static_cast<std::int32_t>(random.below(kExperts));
      set(p, n, signed_of(std::ldexp(1.0, -1 - static_cast<int>(random.below(2)))));
      if (random.below(8) == 0) set(p, n, signed_of(0));
    }
    for (std::int64_t n = 0; n < s.elements(); ++n)
      set(s, n, signed_of(static_cast<double>(random.below(97)) / 8));
  }

  LinearInputs linear() const { return {x.view(), layer.weights(), ids.view(), p.view(), s.view()}; }

  static constexpr std::int64_t kTokens = 2, kExperts = 3, kIn = 128, kOut = 2, kTopK = 3;
  Layer layer;  // with BF16 tokens of its own
  Tensor x, ids, p, s;
};

void expect_same(const Tensor& expected, const Result<Tensor>& got, const Arithmetic& a, const char* op) {
  ASSERT_TRUE(got.ok()) << to_string(a) << ": " << got.error().message();
  ASSERT_EQ(bytes_of(*got), bytes_of(expected)) << op << " " << to_string(a);
}

TEST(ProfileProperties, EveryArithmeticIsTheNormOnExact8ExpertLinear) {
  std::map<Dtype, int> checked;
  for (const WeightFormat format : kBothFormats) {
    for (const Dtype dtype : {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}) {
      std::uint64_t seed = 1;
      for (const Arithmetic& a : all_arithmetics({dtype, format}, 7)) {
        const Exact8 data(format, dtype, ++seed);
        const Result<Tensor> norm = expert_linear(data.linear());
        ASSERT_TRUE(norm.ok()) << norm.error().message();
        expect_same(*norm, declared_expert_linear(data.linear(), a), a, "expert_linear");
        if (HasFatalFailure()) return;
        ++checked[dtype];
      }
    }
  }
  EXPECT_EQ(checked[Dtype::kBF16], 2 * 5 * 16 * 6);
  EXPECT_EQ(checked[Dtype::kF16], 2 * 5 * 12 * 8);
  EXPECT_EQ(checked[Dtype::kF32], 2 * 5 * 12 * 2);
  EXPECT_EQ(checked[Dtype::kF64], 2 * 5 * 12 * 2);
}

TEST(ProfileProperties, EveryArithmeticIsTheNormOnExact8Rows) {
  int checked = 0;
  for (const WeightFormat format : kBothFormats) {
    std::uint64_t seed = 1;
    for (const Arithmetic& a : all_arithmetics({Dtype::kBF16, format}, 8)) {
      const Exact8 data(format, Dtype::kBF16, ++seed);
      const Routes routes = drawn_routes(Exact8::kTokens, 2, Exact8::kExperts, seed, true);
      const AlignedRoutes aligned = align_blocks(routes, Exact8::kExperts, 4);
      const IndexedInputs indexed_in = indexed_inputs(data.layer, aligned);
      const auto check = [&](const Result<RowsResult>& norm, const Result<RowsResult>& got, const char* op) {
        ASSERT_TRUE(norm.ok() && got.ok()) << op << " " << to_string(a);
        ASSERT_EQ(bytes_of(got->output), bytes_of(norm->output)) << op << " " << to_string(a);
        ASSERT_EQ(got->written, norm->written) << op;
        ASSERT_EQ(got->output.shape(), norm->output.shape()) << op;
        ++checked;
      };
      check(indexed(indexed_in), declared_indexed(indexed_in, a), "indexed");

      const ContiguousRows contiguous = contiguous_rows(routes, Exact8::kExperts, 8);
      const Tensor gathered = gather_rows(data.layer.tokens, 2, contiguous.map);
      const GroupedContiguousInputs contiguous_in = {gathered.view(), data.layer.weights(),
                                                     contiguous.m_indices_view()};
      check(grouped_contiguous(contiguous_in), declared_grouped_contiguous(contiguous_in, a),
            "grouped_contiguous");

      const Result<MaskedRows> masked = masked_rows(routes, Exact8::kExperts, 4);
      ASSERT_TRUE(masked.ok());
      const Tensor by_expert = gather_rows(data.layer.tokens, 2, masked->map);
      const GroupedMaskedInputs masked_in = {by_expert.view(), data.layer.weights(), masked->masked_m_view()};
      check(grouped_masked(masked_in), declared_grouped_masked(masked_in, a), "grouped_masked");

      if (a.order.slicing == Order::Slicing::kStreamK) {
        const StreamKGrid grid = seed % 2 == 0 ? StreamKGrid{3, 1, 32} : StreamKGrid{5, 1, 64};
        check(indexed(indexed_in), declared_indexed(indexed_in, a, grid), "indexed, a launch");
      }
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(checked, 2 * (5 * 16 * 6 * 3 + 5 * 4 * 6));
}

TEST(ProfileProperties, EveryArithmeticIsTheNormOnExact8Combine) {
  int checked = 0;
  for (const Dtype dtype : {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}) {
    std::uint64_t seed = 1;
    for (const Arithmetic& a : all_arithmetics({dtype, std::nullopt}, 9)) {
      const Exact8 data(WeightFormat::kMxfp4, Dtype::kBF16, ++seed);
      Tensor rows(Dtype::kBF16, {Exact8::kTokens * Exact8::kTopK, Exact8::kOut});
      Random random(seed);
      for (std::int64_t n = 0; n < rows.elements(); ++n) {
        set(rows, n, random.sign() * static_cast<double>(random.below(25)) / 2);  // p · r in units of 1/8
      }
      const CombineInputs in = {rows.view(), data.p.view(), std::nullopt, data.s.view()};
      const Result<Tensor> norm = combine(in, dtype);
      ASSERT_TRUE(norm.ok());
      expect_same(*norm, declared_combine(in, dtype, a), a, "combine");
      if (HasFatalFailure()) return;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 4 * 4 * 16 * 8);
}

// The twin of the tests above: on data that is not exact, every one of these differs from the norm somewhere,
// so that the agreement there says something.
TEST(ProfileProperties, OnOtherDataEveryArithmeticShows) {
  const Layer layer = drawn_layer(WeightFormat::kInt4, 16, 4, 256, 16, 5);
  Tensor ids(Dtype::kI32, {16, 4});
  Tensor p(Dtype::kF32, {16, 4});
  Tensor s(Dtype::kBF16, {16, 16});
  Random random(3);
  for (std::int64_t n = 0; n < ids.elements(); ++n) {
    ids.as<std::int32_t>()[n] = static_cast<std::int32_t>(random.below(4));
    set(p, n, static_cast<double>(static_cast<float>(random.unit())));
  }
  const LinearInputs in = {layer.tokens.view(), layer.weights(), ids.view(), p.view(), s.view()};
  const std::vector<std::uint8_t> norm = bytes_of(*expert_linear(in));
  std::map<std::vector<std::uint8_t>, std::string> seen;
  for (const char* text :
       {"profile=late", "profile=late_bf16_sum", "profile=hf", "profile=early", "order=streamk(2)",
        "order=streamk(3)", "dequant=fma", "dequant=two_roundings", "dequant=truncate", "dequant=ties_away",
        "dequant=zero_point_7", "dequant=twos_complement", "dequant=exactw"}) {
    const std::vector<std::uint8_t> bits = bytes_of(*declared_expert_linear(in, *parse_arithmetic(text)));
    EXPECT_NE(bits, norm) << text;
    const auto [at, is_new] = seen.emplace(bits, text);
    EXPECT_TRUE(is_new) << text << " is the same as " << at->second;
  }
}

// PRO-22, on every kind of data, non-finite results among them.
TEST(ProfileProperties, ExactIsTheNorm) {
  const Arithmetic exact = *parse_arithmetic("accumulation=exact");
  std::int64_t outputs = 0;
  for (const Data kind : kAllData) {
    for (const Dtype dtype : {Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64}) {
      DataSizes sizes;
      sizes.tokens = 4;
      sizes.out = 8;
      sizes.x = sizes.s = dtype;
      const DataSet set = make_data(kind, sizes, 11);
      for (const char* policy : {"", "scale_nan=formula", "scale_zero=flush"}) {
        const LinearInputs in = linear_inputs(set.inputs());
        const Result<Tensor> norm = expert_linear(in, *parse_policy(policy));
        ASSERT_TRUE(norm.ok()) << norm.error().message();
        expect_same(*norm, declared_expert_linear(in, exact, *parse_policy(policy)), exact, "expert_linear");
        outputs += norm->elements();
      }
    }
  }
  for (const WeightFormat format : kBothFormats) {
    const Layer layer = drawn_layer(format, 6, 3, 96, 8, 21);
    const AlignedRoutes aligned = align_blocks(drawn_routes(6, 2, 3, 5), 3, 4);
    const IndexedInputs in = indexed_inputs(layer, aligned);
    const Result<RowsResult> got = declared_indexed(in, exact);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(bytes_of(got->output), bytes_of(indexed(in)->output));
  }
  EXPECT_EQ(outputs, 9 * 4 * 3 * 32);
}

// Single outputs are those of the whole call.
TEST(ProfileProperties, SamplesAreTheWhole) {
  const Layer layer = drawn_layer(WeightFormat::kMxfp4, 5, 3, 96, 4, 31);
  const Routes routes = drawn_routes(5, 2, 3, 6, true);
  const AlignedRoutes aligned = align_blocks(routes, 3, 4);
  const IndexedInputs in = indexed_inputs(layer, aligned);
  Tensor p(Dtype::kF32, {5, 2});
  Tensor s(Dtype::kBF16, {5, 4});
  fill(p, 0.75);
  fill(s, 3);
  const TensorView ids = {Dtype::kI32, {5, 2}, routes.expert.data(), {}};
  const LinearInputs linear = {layer.tokens.view(), layer.weights(), ids, p.view(), s.view()};
  const Policy policy = *parse_policy("ids=absent");
  for (const char* text :
       {"profile=early accumulation=hopper", "order=streamk(2) profile=hf", "accumulation=exact"}) {
    const Arithmetic a = *parse_arithmetic(text);
    const Result<RowsResult> rows = declared_indexed(in, a);
    const Result<RoutedRows> routed = indexed_rows(in);
    const Result<DeclaredRows> kernel = DeclaredRows::create(*routed, in.weights, a);
    ASSERT_TRUE(rows.ok() && kernel.ok());
    for (std::size_t n = 0; n < routed->rows.size(); ++n) {
      for (std::int64_t o = 0; o < 4; ++o) {
        EXPECT_EQ(kernel->output(static_cast<std::int64_t>(n), o),
                  bits_at(rows->output, routed->rows[n].row * 4 + o));
      }
    }
    const Result<Tensor> y = declared_expert_linear(linear, a, policy);
    const Result<DeclaredLinear> tokens = DeclaredLinear::create(linear, a, policy);
    ASSERT_TRUE(y.ok() && tokens.ok());
    for (std::int64_t n = 0; n < y->elements(); ++n) EXPECT_EQ(tokens->output(n / 4, n % 4), bits_at(*y, n));
  }
}

// Profile once in F32 and F64 against a simulation in host floats that shares nothing with the evaluation but
// the chains.
TEST(ProfileProperties, OnceIsTheSimulatedKernel) {
  std::int64_t outputs = 0;
  for (const Data kind : kAllData) {
    for (const Dtype dtype : {Dtype::kBF16, Dtype::kF32, Dtype::kF64}) {
      DataSizes sizes;
      sizes.tokens = 4;
      sizes.out = 8;
      sizes.in = 96;
      sizes.x = sizes.s = dtype;
      const DataSet set = make_data(kind, sizes, 12);
      for (const char* order : {"seq", "groups(32)", "lanes(32,2)+shfl", "warps(16,4)+tree", "split(3)"}) {
        for (const bool rounded : {false, true}) {
          for (const bool ftz : {false, true}) {
            if (ftz && dtype == Dtype::kF64) continue;
            Arithmetic a;
            a.order = parse_order(order).value();
            a.product_rounded = rounded;
            a.ftz = ftz;
            const SlotOrder slots = rounded ? SlotOrder::kSharedFirst : SlotOrder::kFused;
            const Tensor expected = simulate(set.inputs(), {a.order, rounded, slots, ftz});
            const Result<Tensor> got = declared_expert_linear(linear_inputs(set.inputs()), a);
            ASSERT_TRUE(got.ok()) << got.error().message();
            for (std::int64_t n = 0; n < expected.elements(); ++n) {
              const FloatFormat format = format_of(dtype);
              const ExactValue left = decode_float(format, bits_at(*got, n));
              const ExactValue right = decode_float(format, bits_at(expected, n));
              if (left.cls == ValueClass::kNan && right.cls == ValueClass::kNan) continue;
              if (left.is_zero() && right.is_zero()) continue;  // PRO-5: a shared -0 counts as +0 here
              ASSERT_EQ(bits_at(*got, n), bits_at(expected, n))
                  << to_string(a) << " data " << static_cast<int>(kind) << " " << name_of(dtype) << " at "
                  << n;
            }
            outputs += expected.elements();
          }
        }
      }
    }
  }
  EXPECT_EQ(outputs, 9 * 5 * (4 + 4 + 2) * 32);
}

}  // namespace
}  // namespace moe4::test
