// The exact fills are exact, and the proof says no when they are not (DATA-22, DATA-23, DATA-33).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/oracle/case_numbers.h"

namespace moe4::oracle {
namespace {

float sum_f32(const std::vector<double>& terms) {
  float sum = 0;
  for (const double term : terms) sum = sum + static_cast<float>(term);
  return sum;
}

// A BF16 accumulator: 8 bits of significand after every addition.
float sum_bf16(const std::vector<double>& terms) {
  float sum = 0;
  for (const double term : terms) {
    const float wide = sum + static_cast<float>(term);
    std::uint32_t bits;
    std::memcpy(&bits, &wide, sizeof bits);
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000u;
    std::memcpy(&sum, &bits, sizeof sum);
  }
  return sum;
}

TEST(ExactFill, Exact24HasOneSumInEveryOrder) {
  for (const char* line : {"tokens=3 experts=4 top_k=2 in=96 out=8 fill=exact24 routing=duplicate seed=0x2a",
                           "tokens=2 experts=4 top_k=4 in=1120 out=9 fill=exact24 dtype=f32",
                           "tokens=2 experts=9 top_k=4 in=96 out=9 fill=exact24 dtype=f16 routing=poison"}) {
    const CaseData data = data_of(std::string(line));
    std::mt19937_64 shuffle(1);
    int inexact_output = 0;
    for (std::int64_t t = 0; t < data.line->tokens; ++t) {
      for (std::int64_t o = 0; o < data.line->out; ++o) {
        std::vector<double> terms = terms_at(data, t, o);
        const float forward = sum_f32(terms);
        double exact = 0;
        for (const double term : terms) exact += term;
        EXPECT_EQ(static_cast<double>(forward), exact) << line;
        for (int n = 0; n < 3; ++n) {
          std::shuffle(terms.begin(), terms.end(), shuffle);
          EXPECT_EQ(sum_f32(terms), forward) << line;
        }
        inexact_output += static_cast<double>(sum_bf16(terms)) != exact;
      }
    }
    EXPECT_GT(inexact_output, 0) << "dense data that a BF16 accumulator could sum says too little";
  }
}

TEST(ExactFill, Exact8IsExactInABf16Accumulator) {
  for (const char* line : {"tokens=3 experts=4 top_k=2 in=96 out=8 fill=exact8 routing=duplicate seed=0x2a",
                           "tokens=4 experts=32 top_k=16 in=3072 out=9 fill=exact8",
                           "tokens=2 experts=9 top_k=4 in=96 out=9 fill=exact8 dtype=f16 routing=poison",
                           "tokens=4 experts=4 top_k=2 in=64 out=9 fill=exact8 scales=window(250,254)"}) {
    const CaseData data = data_of(std::string(line));
    std::mt19937_64 shuffle(1);
    int routed = 0;
    for (std::int64_t t = 0; t < data.line->tokens; ++t) {
      for (std::int64_t o = 0; o < data.line->out; ++o) {
        std::vector<double> terms = terms_at(data, t, o);
        double exact = 0;
        for (const double term : terms) exact += term;
        routed += exact != terms[0];
        for (int n = 0; n < 3; ++n) {
          std::shuffle(terms.begin(), terms.end(), shuffle);
          EXPECT_EQ(static_cast<double>(sum_bf16(terms)), exact) << line;
        }
      }
    }
    EXPECT_GT(routed, data.line->tokens * data.line->out / 2) << line << ": most outputs hold no routed term";
  }
}

TEST(ExactFill, EveryListedShapeIsProved) {
  for (const char* fill : {"exact8", "exact24"}) {
    for (const char* shape :
         {"tokens=1 experts=1 top_k=1 in=32 out=1", "tokens=2 experts=32 top_k=16 in=3072 out=8",
          "tokens=2 experts=32 top_k=16 in=7168 out=4", "tokens=17 experts=24 top_k=8 in=2880 out=3",
          "tokens=3 experts=40 top_k=33 in=64 out=3"}) {
      for (const char* dtype : {"bf16", "f16", "f32", "f64"}) {
        const std::string line = std::string(shape) + " fill=" + fill + " dtype=" + dtype;
        const CaseData data = data_of(line);
        ASSERT_TRUE(data.proof) << line;
        EXPECT_TRUE(data.proof->proved) << line;
        EXPECT_GT(data.proof->largest_units, 0) << line;
      }
    }
  }
}

TEST(ExactFill, NoRoomIsAnError) {
  const Result<CaseData> data = generate(case_of("top_k=16 experts=16 in=4194304 out=1 fill=exact24"));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().rule.substr(0, 7), "DATA-33");
  const Result<CaseData> window = generate(case_of("dtype=f16 fill=exact8 scales=window(0,9)"));
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().rule.substr(0, 7), "DATA-12");
}

// The limit itself: one token, one weight of 1, one unit, and shared just under and at the limit.
TEST(Proof, LimitIsMetAndNotPassed) {
  CaseData data = data_of("tokens=1 experts=1 top_k=1 in=32 out=1 dtype=f32 fill=real");
  auto x = data.latent_tokens.as<float>();
  std::fill(x.begin(), x.end(), 0.0f);
  x[0] = 1;
  auto w = data.packed_weights.as<std::uint8_t>();
  std::fill(w.begin(), w.end(), std::uint8_t{0x22});
  data.scale_bytes.as<std::uint8_t>()[0] = 127;
  data.mixture_weights.as<float>()[0] = 1;
  const auto units = [&](float shared, int bits) {
    data.shared_output.as<float>()[0] = shared;
    return prove_exact(data, bits);
  };
  EXPECT_TRUE(units(255, 8).proved);  // 255 + 1 = 2^8
  EXPECT_EQ(units(255, 8).largest_units, 256);
  EXPECT_FALSE(units(257, 8).proved);
  EXPECT_TRUE(units(16777213, 24).proved);  // 2^24 - 3 + 1
  EXPECT_TRUE(units(16777214, 24).proved);
  EXPECT_FALSE(units(16777215, 24).proved);  // 2^24 is not below the limit
  EXPECT_TRUE(units(-16777214, 24).proved);
  EXPECT_FALSE(units(512, 8).proved);
  EXPECT_TRUE(units(0.5f, 8).proved);
  EXPECT_EQ(units(0.5f, 8).largest_units, 3);  // the unit is now 0.5
}

TEST(Proof, PlantedFaultsAreSeen) {
  const std::string line = "tokens=3 experts=4 top_k=2 in=96 out=8 dtype=f32 fill=exact8 seed=0x2a";
  const auto refused = [&](auto&& change) {
    CaseData data = data_of(line);
    EXPECT_TRUE(prove_exact(data, 8).proved);
    change(data);
    return !prove_exact(data, 8).proved;
  };
  const auto first_expert = [](const CaseData& data) { return load_id(data.selected_experts, 0); };
  EXPECT_TRUE(refused([](CaseData& d) {
    for (float& x : d.latent_tokens.as<float>()) x *= 1.0000001f;
  }));
  EXPECT_TRUE(refused([](CaseData& d) { d.latent_tokens.as<float>()[7] = NAN; }));
  EXPECT_TRUE(refused([](CaseData& d) { d.shared_output.as<float>()[7] = INFINITY; }));
  EXPECT_TRUE(refused([](CaseData& d) { d.mixture_weights.as<float>()[1] = 1.0f / 3.0f; }));
  EXPECT_TRUE(refused([&](CaseData& d) {
    d.scale_bytes.as<std::uint8_t>()[static_cast<std::size_t>(first_expert(d) * 8 * 3)] = 255;
  }));
  EXPECT_TRUE(refused([&](CaseData& d) {
    auto codes = d.packed_weights.as<std::uint8_t>();
    const auto row = static_cast<std::size_t>(first_expert(d) * 8 * 48);
    std::fill(codes.begin() + static_cast<std::ptrdiff_t>(row),
              codes.begin() + static_cast<std::ptrdiff_t>(row) + 48, std::uint8_t{0x77});
  }));
  EXPECT_TRUE(refused([](CaseData& d) {
    for (float& x : d.latent_tokens.as<float>()) x = std::ldexp(x, -120);
  })) << "units below the normal range are not exact under flushing";
}

TEST(Proof, UnselectedExpertsDoNotMatter) {
  CaseData data = data_of("tokens=1 experts=4 top_k=1 in=64 out=3 fill=exact8");
  const std::int64_t e = load_id(data.selected_experts, 0);
  const auto other = static_cast<std::size_t>((e + 1) % 4 * 6);
  std::fill_n(data.scale_bytes.as<std::uint8_t>().begin() + static_cast<std::ptrdiff_t>(other), 6,
              std::uint8_t{255});
  EXPECT_TRUE(prove_exact(data, 8).proved);
}

TEST(Ties, EveryOutputIsAMidpointOfBothParities) {
  for (const char* dtype : {"bf16", "f16", "f32"}) {
    for (const char* more : {"", " shared=bf16", " shared=f16", " routing=poison"}) {
      const std::string line =
          std::string("tokens=5 experts=8 top_k=3 in=160 out=9 fill=ties dtype=") + dtype + more;
      const CaseData data = data_of(line);
      const FloatFormat format = format_of(data.line->dtype);
      int even = 0, odd = 0;
      for (std::int64_t t = 0; t < 5; ++t) {
        for (std::int64_t o = 0; o < 9; ++o) {
          double exact = 0;
          for (const double term : terms_at(data, t, o)) exact += term;
          // |exact| = (2m + 1) · 2^k with exactly one bit more than the format holds.
          int exponent = 0;
          const double fraction = std::frexp(std::fabs(exact), &exponent);
          const double scaled = std::ldexp(fraction, format.mantissa_bits + 2);
          ASSERT_EQ(scaled, std::floor(scaled)) << line;
          const auto integer = static_cast<std::int64_t>(scaled);
          ASSERT_EQ(integer % 2, 1) << line << " t=" << t << " o=" << o;
          (integer / 2 % 2 == 0 ? even : odd)++;
        }
      }
      EXPECT_GT(even, 5) << line;
      EXPECT_GT(odd, 5) << line;
    }
  }
}

}  // namespace
}  // namespace moe4::oracle
