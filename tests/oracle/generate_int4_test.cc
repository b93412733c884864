// DATA-34 … DATA-41: the fills of INT4.
#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "oracle/generate/store.h"
#include "reference/linear/int4_weight.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

double number(const ExactValue& v) {
  const double size = std::ldexp(static_cast<double>(v.significand), v.exponent);
  return v.negative ? -size : size;
}

double weight(const CaseData& data, std::int64_t e, std::int64_t o, std::int64_t i) {
  const Int4Bits code{static_cast<std::uint8_t>(any_code_at(data, e, o, i))};
  return number(decode_float(kBF16, int4_weight(code, BF16Bits{any_scale_at(data, e, o, i / 32)}).bits));
}

// The products w·x of a row of an operation on rows.
std::vector<double> terms_of(const CaseData& data, const OutputRow& row, std::int64_t o) {
  std::vector<double> terms;
  const std::int64_t in = in_of(data);
  for (std::int64_t i = 0; i < in; ++i) {
    const ExactValue x = decode_float(kBF16, load_float_bits(data.latent_tokens, row.source * in + i));
    terms.push_back(weight(data, row.slots[0].expert, o, i) * number(x));
  }
  return terms;
}

TEST(Int4Fill, Exact24HasOneSumInEveryOrderWithFullMantissas) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=2 experts=4 top_k=2 in=7168 out=3 fill=exact24");
  ASSERT_TRUE(data.proof && data.proof->proved);
  EXPECT_GT(data.proof->largest_units, 1 << 17) << "data so thin says too little";
  std::mt19937_64 shuffle(1);
  std::set<unsigned> mantissas;
  for (const OutputRow& row : output_rows(data)) {
    for (std::int64_t g = 0; g < 224; ++g)
      mantissas.insert(any_scale_at(data, row.slots[0].expert, 0, g) & 127);
    for (std::int64_t o = 0; o < 3; ++o) {
      std::vector<double> terms = terms_of(data, row, o);
      double exact = 0;
      for (const double term : terms) exact += term;
      for (int n = 0; n < 3; ++n) {
        float sum = 0;
        for (const double term : terms) sum = sum + static_cast<float>(term);
        EXPECT_EQ(static_cast<double>(sum), exact);
        std::shuffle(terms.begin(), terms.end(), shuffle);
      }
    }
  }
  EXPECT_GT(mantissas.size(), 100u);
}

TEST(Int4Fill, EveryListedShapeIsProved) {
  for (const char* fill : {"exact8", "exact24"}) {
    for (const char* shape :
         {"tokens=1 experts=1 top_k=1 in=32 out=1", "tokens=2 experts=32 top_k=16 in=3072 out=4",
          "tokens=2 experts=32 top_k=8 in=7168 out=3", "tokens=17 experts=24 top_k=8 in=2880 out=2",
          "tokens=2 experts=4 top_k=2 in=64 out=9 scales=window(0,3)",
          "tokens=2 experts=4 top_k=2 in=64 out=9 scales=window(248,254)"}) {
      for (const char* dtype : {"bf16", "f16", "f32", "f64"}) {
        const std::string line = std::string(shape) + " weights=int4 fill=" + fill + " dtype=" + dtype;
        if (std::string(dtype) == "f16" && line.find("window") != std::string::npos) continue;
        for (const Op op : all_ops()) {
          Case c = case_of(line);
          c.op = op;
          if (validate_case(c)) continue;
          const CaseData data = data_of(c);
          ASSERT_TRUE(data.proof) << line;
          EXPECT_TRUE(data.proof->proved) << line;
          EXPECT_GT(data.proof->largest_units, 0) << line;
        }
      }
    }
  }
}

TEST(Int4Fill, PlantedFaultsAreSeenByTheProof) {
  const std::string line = "op=indexed weights=int4 tokens=3 experts=4 top_k=2 in=96 out=8 fill=exact8";
  const auto refused = [&](auto&& change) {
    CaseData data = data_of(line);
    EXPECT_TRUE(prove_exact(data, 8).proved);
    change(data);
    return !prove_exact(data, 8).proved;
  };
  const auto at = [](const CaseData& data) {
    return static_cast<std::size_t>(output_rows(data)[0].slots[0].expert * 8 * 3);
  };
  EXPECT_TRUE(refused([&](CaseData& d) { d.scales.as<std::uint16_t>()[at(d)] = 0x7FC0; }));
  EXPECT_TRUE(refused([&](CaseData& d) { d.scales.as<std::uint16_t>()[at(d)] = 0xFF80; }));
  EXPECT_TRUE(refused([&](CaseData& d) { d.scales.as<std::uint16_t>()[at(d)] = 0x7F00; }))
      << "-8·s overflows";
  EXPECT_TRUE(refused([](CaseData& d) { d.latent_tokens.as<std::uint16_t>()[5] = 0x7FC0; }));
  EXPECT_TRUE(refused([&](CaseData& d) {
    std::span<std::int32_t> words = d.packed_weights.as<std::int32_t>();
    std::fill_n(words.begin() + static_cast<std::ptrdiff_t>(at(d) * 4), 12, 0x0F0F0F0F);
  }));
  EXPECT_FALSE(refused([](CaseData&) {}));
}

TEST(Int4Fill, BitsHasEveryCodeAndEveryKindOfScale) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=40 experts=8 top_k=2 in=1024 out=16 fill=bits");
  std::bitset<256> fields;
  std::set<unsigned> codes;
  int negative = 0, subnormal = 0, scales = 0;
  for (std::int64_t e = 0; e < 8; ++e) {
    for (std::int64_t o = 0; o < 16; ++o) {
      for (std::int64_t i = 0; i < 1024; ++i) codes.insert(any_code_at(data, e, o, i));
      for (std::int64_t g = 0; g < 32; ++g) {
        const std::uint16_t scale = any_scale_at(data, e, o, g);
        const unsigned field = scale >> 7 & 255;
        fields.set(field);
        negative += scale >> 15;
        subnormal += field == 0 && (scale & 127) != 0;
        ++scales;
      }
    }
  }
  EXPECT_EQ(codes.size(), 16u);
  EXPECT_GT(fields.count(), 150u);
  EXPECT_FALSE(fields[255]);
  EXPECT_NEAR(negative, scales / 2, scales / 20);
  EXPECT_GT(subnormal, 0);
  const Norm norm = norm_of_data(data);
  for (const std::uint16_t bits : norm.output.as<std::uint16_t>())
    EXPECT_LT(bits & 0x7FFF, 0x7F80) << "finite";
}

TEST(Int4Fill, WindowIsOfExponentFields) {
  const CaseData data =
      data_of("weights=int4 tokens=4 experts=4 top_k=2 in=512 out=8 fill=bits scales=window(100,103)");
  std::set<unsigned> fields;
  for (const OutputRow& row : output_rows(data)) {
    for (const Slot& slot : row.slots) {
      for (std::int64_t g = 0; g < 16; ++g) {
        for (std::int64_t o = 0; o < 8; ++o) fields.insert(any_scale_at(data, slot.expert, o, g) >> 7 & 255);
      }
    }
  }
  EXPECT_EQ(fields, (std::set<unsigned>{100, 101, 102, 103}));
}

TEST(Int4Fill, RealIsQuantisedByTheLargestOverSeven) {
  const CaseData data = data_of("weights=int4 tokens=1 experts=1 top_k=1 in=2048 out=8 fill=real");
  double square = 0;
  for (std::int64_t o = 0; o < 8; ++o) {
    for (std::int64_t g = 0; g < 64; ++g) {
      int largest = 0;
      for (std::int64_t i = 32 * g; i < 32 * g + 32; ++i) {
        const int q = static_cast<int>(any_code_at(data, 0, o, i)) - 8;
        largest = std::max(largest, std::abs(q));
        square += weight(data, 0, o, i) * weight(data, 0, o, i);
      }
      EXPECT_EQ(largest, 7) << "codes 1..15, the largest magnitude at the end";
    }
  }
  EXPECT_NEAR(std::sqrt(square / (8 * 2048)), std::ldexp(1.0, -6), std::ldexp(1.0, -6));
}

TEST(Int4Fill, PositiveHasOneSignAndCancelCancels) {
  const CaseData positive =
      data_of("op=indexed weights=int4 tokens=2 experts=2 top_k=1 in=256 out=8 fill=positive");
  for (const OutputRow& row : output_rows(positive)) {
    for (const double term : terms_of(positive, row, 3)) EXPECT_GE(term, 0);
  }
  const CaseData cancel =
      data_of("op=indexed weights=int4 tokens=2 experts=2 top_k=1 in=256 out=8 fill=cancel");
  for (const OutputRow& row : output_rows(cancel)) {
    double sum = 0, size = 0;
    for (const double term : terms_of(cancel, row, 3)) {
      sum += term;
      size += std::fabs(term);
    }
    EXPECT_LT(std::fabs(sum), size / 30);
  }
}

TEST(Int4Fill, NonfiniteHasEveryClassOfScaleAndOverflow) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=40 experts=16 top_k=2 in=128 out=32 fill=nonfinite");
  int nan = 0, inf = 0, overflow = 0, finite = 0;
  for (const std::uint16_t scale : data.scales.as<std::uint16_t>()) {
    nan += (scale & 0x7FFF) > 0x7F80;
    inf += (scale & 0x7FFF) == 0x7F80;
    overflow += (scale & 0x7FFF) >= 0x7D80 && (scale & 0x7FFF) < 0x7F80;
  }
  for (const std::uint16_t bits : norm_of_data(data).output.as<std::uint16_t>())
    finite += (bits & 0x7FFF) < 0x7F80;
  EXPECT_GT(nan, 0);
  EXPECT_GT(inf, 0);
  EXPECT_GT(overflow, 0);
  EXPECT_GT(finite, 500) << "most outputs stay finite";
}

TEST(Int4Fill, OnehotShowsSingleWeights) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=128 experts=1 top_k=1 in=128 out=64 fill=onehot");
  const Norm norm = norm_of_data(data);
  std::set<std::pair<unsigned, unsigned>> pairs;
  for (const OutputRow& row : output_rows(data)) {
    for (std::int64_t i = 0; i < 128; ++i) {
      if ((load_float_bits(data.latent_tokens, row.source * 128 + i) & 0x7FFF) == 0) continue;
      for (std::int64_t o = 0; o < 64; ++o) {
        pairs.insert({any_code_at(data, 0, o, i), any_scale_at(data, 0, o, i / 32) >> 7 & 255});
        const auto bits = norm.output.as<std::uint16_t>()[static_cast<std::size_t>(row.row * 64 + o)];
        EXPECT_LT(bits & 0x7FFF, 0x7F80);
      }
    }
  }
  EXPECT_GT(pairs.size(), 3900u);
}

// A smaller case is a sub-tensor of the larger one, for every operation and format.
TEST(Int4Fill, FewerOutputsGroupsAndTokensAreASubTensor) {
  for (const WeightFormat weights : all_weights()) {
    for (const Op op : all_ops()) {
      for (const Fill fill : all_fills()) {
        Case large = case_of("tokens=7 experts=6 top_k=2 in=96 out=5 seed=3");
        large.op = op;
        large.weights = weights;
        large.fill = fill;
        Case small = large;
        small.tokens = 4;
        small.out = 3;
        if (fill != Fill::kOnehot && fill != Fill::kTallPairs) small.in = 64;
        const CaseData whole = data_of(large), part = data_of(small);
        if (op == Op::kCombine) {
          if (small.in != large.in) continue;  // rows are sums over I
          continue;
        }
        std::vector<OutputRow> few = output_rows(part), many = output_rows(whole);
        for (const OutputRow& row : few) {
          for (const Slot& slot : row.slots) {
            for (std::int64_t o = 0; o < small.out; ++o) {
              for (std::int64_t i = 0; i < small.in; ++i) {
                ASSERT_EQ(any_code_at(part, slot.expert, o, i), any_code_at(whole, slot.expert, o, i));
              }
              for (std::int64_t g = 0; g < small.in / 32; ++g) {
                ASSERT_EQ(any_scale_at(part, slot.expert, o, g), any_scale_at(whole, slot.expert, o, g));
              }
            }
          }
        }
        if (op != Op::kIndexed) continue;
        for (const OutputRow& row : few) {
          for (std::int64_t i = 0; i < small.in; ++i) {
            ASSERT_EQ(load_float_bits(part.latent_tokens, row.source * small.in + i),
                      load_float_bits(whole.latent_tokens, row.source * large.in + i));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace moe4::oracle
