// What each fill promises (DATA-22 … DATA-32).
#include <algorithm>
#include <numeric>
#include <set>

#include "tests/oracle/case_numbers.h"

namespace moe4::oracle {
namespace {

std::set<unsigned> scales_used(const CaseData& data) {
  const auto bytes = data.scale_bytes.as<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

TEST(Fill, OutputsAndPartialSumsStayFinite) {
  for (Fill fill : all_fills()) {
    if (fill == Fill::kNonfinite) continue;
    for (Dtype dtype : {Dtype::kBF16, Dtype::kF16, Dtype::kF32}) {
      for (const char* shape :
           {"tokens=7 experts=32 top_k=16 in=608 out=5", "tokens=3 experts=3 top_k=1 in=32 out=8"}) {
        Case c = case_of(shape);
        c.fill = fill;
        c.dtype = dtype;
        const CaseData data = data_of(c);
        const Tensor norm = norm_of(data);
        for (std::int64_t t = 0; t < c.tokens; ++t) {
          for (std::int64_t o = 0; o < c.out; ++o) {
            EXPECT_LT(magnitude_of(terms_at(data, t, o)), std::ldexp(1.0, 127)) << to_string(c);
            EXPECT_TRUE(exact_at(norm, t * c.out + o).is_finite()) << to_string(c);
          }
        }
      }
    }
  }
}

TEST(Fill, OutputsDiffer) {
  for (Fill fill : all_fills()) {
    if (fill == Fill::kOnehot) continue;
    Case c = case_of("tokens=7 experts=8 top_k=2 in=96 out=9");
    c.fill = fill;
    const Tensor norm = norm_of(data_of(c));
    std::set<std::uint64_t> values;
    for (std::int64_t n = 0; n < norm.elements(); ++n) values.insert(load_float_bits(norm, n));
    EXPECT_GT(values.size(), 15u) << name_of(fill);
  }
}

TEST(Bits, ScaleBytesComeFromTheWholeRange) {
  std::set<unsigned> seen;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Case c = case_of("tokens=1 experts=4 top_k=4 in=3072 out=8 fill=bits");
    c.seed = seed;
    const std::set<unsigned> used = scales_used(data_of(c));
    EXPECT_GT(used.size(), 180u);
    EXPECT_EQ(used.count(255), 0u);
    for (const unsigned edge : {0u, 1u, 253u, 254u}) EXPECT_TRUE(used.count(edge)) << edge;
    seen.insert(used.begin(), used.end());
  }
  EXPECT_GE(seen.size(), 254u);
}

TEST(Bits, WindowsSlideFromRowToRow) {
  const CaseData data = data_of("tokens=1 experts=1 top_k=1 in=32 out=64 fill=bits scales=window(20,240)");
  std::set<unsigned> firsts;
  for (std::int64_t o = 0; o < 64; ++o) firsts.insert(scale_at(data, 0, o, 0));
  EXPECT_GT(firsts.size(), 4u);
  EXPECT_LE(*firsts.rbegin() - *firsts.begin(), 11u);
}

TEST(Bits, WindowIsKept) {
  for (const char* fill : {"bits", "exact8", "exact24"}) {
    for (const auto& [lo, hi] :
         {std::pair(0, 0), std::pair(0, 3), std::pair(100, 140), std::pair(250, 254), std::pair(254, 255)}) {
      const std::string window = " scales=window(" + std::to_string(lo) + "," + std::to_string(hi) + ")";
      const CaseData data =
          data_of("tokens=2 experts=2 top_k=2 in=160 out=4 fill=" + std::string(fill) + window);
      const std::set<unsigned> used = scales_used(data);
      EXPECT_GE(static_cast<int>(*used.begin()), lo) << fill << window;
      EXPECT_LE(static_cast<int>(*used.rbegin()), std::min(hi, 254)) << fill << window;
    }
  }
}

// Every group of every selected expert changes some output when it is cleared, though the bytes of a row
// differ by up to 254 binades.
TEST(Bits, EveryGroupIsSeen) {
  for (const char* dtype : {"bf16", "f16", "f32"}) {
    const CaseData data =
        data_of("tokens=9 experts=3 top_k=2 in=608 out=9 fill=bits dtype=" + std::string(dtype));
    const Tensor norm = norm_of(data);
    const std::int64_t groups = 19;
    for (std::int64_t e = 0; e < 3; ++e) {
      for (std::int64_t g = 0; g < groups; ++g) {
        CaseData cleared = data;
        auto bytes = cleared.packed_weights.as<std::uint8_t>();
        for (std::int64_t o = 0; o < 9; ++o) {
          std::fill_n(bytes.begin() + ((e * 9 + o) * groups + g) * 16, 16, std::uint8_t{0});
        }
        const Tensor other = norm_of(cleared);
        int changed = 0;
        for (std::int64_t n = 0; n < norm.elements(); ++n) {
          changed += load_float_bits(norm, n) != load_float_bits(other, n);
        }
        EXPECT_GE(changed, 5) << dtype << " expert " << e << " group " << g;
      }
    }
  }
}

TEST(Real, LooksLikeAModel) {
  const CaseData data = data_of("tokens=4 experts=32 top_k=16 in=608 out=8 fill=real");
  for (std::int64_t t = 0; t < 4; ++t) {
    double sum = 0;
    for (std::int64_t j = 0; j < 16; ++j) {
      const double p = value_at(data.mixture_weights, t * 16 + j);
      EXPECT_GT(p, 0.001);
      sum += p;
    }
    EXPECT_NEAR(sum, 1, 0.03);
  }
  double square = 0;
  std::int64_t count = 0;
  std::array<int, 16> codes{};
  const std::int64_t e = load_id(data.selected_experts, 0);
  for (std::int64_t o = 0; o < 8; ++o) {
    for (std::int64_t i = 0; i < 608; ++i, ++count) {
      const double w = weight_at(data, e, o, i);
      square += w * w;
      ++codes[code_at(data, e, o, i)];
    }
  }
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(count)), 0.0156, 0.01);
  for (int code = 0; code < 16; ++code) EXPECT_GT(codes[static_cast<std::size_t>(code)], 40) << code;
  double tokens_square = 0;
  for (std::int64_t n = 0; n < 4 * 608; ++n) tokens_square += std::pow(value_at(data.latent_tokens, n), 2);
  EXPECT_NEAR(tokens_square / (4 * 608), 1, 0.15);
}

TEST(Positive, NothingIsNegative) {
  const CaseData data = data_of("tokens=5 experts=8 top_k=4 in=96 out=8 fill=positive");
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t o = 0; o < 8; ++o) {
      for (const double term : terms_at(data, t, o)) EXPECT_FALSE(std::signbit(term));
    }
  }
}

TEST(Cancel, LittleIsLeft) {
  for (const char* line : {"tokens=5 experts=8 top_k=2 in=256 out=8 fill=cancel",
                           "tokens=5 experts=8 top_k=2 in=256 out=8 fill=slab_cancel",
                           "tokens=5 experts=8 top_k=2 in=256 out=8 fill=slab_cancel dtype=f32"}) {
    const CaseData data = data_of(std::string(line));
    int not_zero = 0;
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t o = 0; o < 8; ++o) {
        const std::vector<double> terms = terms_at(data, t, o);
        const double sum = std::accumulate(terms.begin(), terms.end(), 0.0);
        EXPECT_LT(std::fabs(sum), magnitude_of(terms) / 128) << line;
        not_zero += std::fabs(sum) > magnitude_of(terms) * 1e-9;
      }
    }
    EXPECT_GT(not_zero, 35) << line;
  }
}

TEST(SlabCancel, PartialSumsGrowInsideASlab) {
  const CaseData data = data_of("tokens=5 experts=8 top_k=1 in=256 out=8 fill=slab_cancel");
  const std::vector<double> terms = terms_at(data, 0, 0);
  const double slab = std::accumulate(terms.begin() + 1, terms.begin() + 65, 0.0);
  const double all = std::accumulate(terms.begin(), terms.end(), 0.0);
  EXPECT_GT(std::fabs(slab), 100 * std::fabs(all));
}

TEST(Subnormal, TokensAndOutputsAreSubnormal) {
  for (const char* dtype : {"bf16", "f16", "f32"}) {
    const CaseData data =
        data_of("tokens=9 experts=8 top_k=2 in=96 out=64 fill=subnormal dtype=" + std::string(dtype));
    const FloatFormat format = format_of(data.line->dtype);
    const auto share = [&format](const Tensor& tensor) {
      int subnormal = 0;
      for (std::int64_t n = 0; n < tensor.elements(); ++n) {
        const std::uint64_t bits = load_float_bits(tensor, n);
        subnormal += (bits & format.infinity()) == 0 && (bits & format.mantissa_mask()) != 0;
      }
      return static_cast<double>(subnormal) / static_cast<double>(tensor.elements());
    };
    EXPECT_GT(share(data.latent_tokens), 0.2) << dtype;
    EXPECT_GT(share(norm_of(data)), 0.3) << dtype;
    EXPECT_LT(share(norm_of(data)), 1.0) << dtype;
  }
}

TEST(Nonfinite, EveryKindIsPlantedAndSomeOutputsStayFinite) {
  const CaseData data = data_of("tokens=64 experts=16 top_k=4 in=96 out=33 fill=nonfinite");
  const auto kinds = [](const Tensor& tensor) {
    std::array<int, 5> count{};  // finite, NaN, +Inf, -Inf, zero
    for (std::int64_t n = 0; n < tensor.elements(); ++n) {
      const ExactValue v = exact_at(tensor, n);
      ++count[v.cls == ValueClass::kNan ? 1 : v.cls == ValueClass::kInf ? (v.negative ? 3 : 2) : 0];
      count[4] += v.is_zero();
    }
    return count;
  };
  for (const Tensor* tensor : {&data.latent_tokens, &data.mixture_weights, &data.shared_output}) {
    const auto count = kinds(*tensor);
    for (int kind = 0; kind < 4; ++kind) EXPECT_GT(count[static_cast<std::size_t>(kind)], 0) << kind;
  }
  EXPECT_GT(kinds(data.mixture_weights)[4], 0);
  EXPECT_TRUE(scales_used(data).count(255));
  const auto outputs = kinds(norm_of(data));
  for (int kind = 0; kind < 4; ++kind) {
    EXPECT_GT(outputs[static_cast<std::size_t>(kind)], 50) << "outputs of kind " << kind;
  }
}

TEST(Onehot, EveryPairIsReadAndTheOutputIsTheWeight) {
  for (const char* dtype : {"bf16", "f32"}) {
    const CaseData data =
        data_of("tokens=128 experts=2 top_k=1 in=128 out=65 fill=onehot dtype=" + std::string(dtype));
    const Tensor norm = norm_of(data);
    std::set<std::pair<unsigned, unsigned>> read;
    for (std::int64_t t = 0; t < 128; ++t) {
      std::int64_t at = -1;
      for (std::int64_t i = 0; i < 128; ++i) {
        if (value_at(data.latent_tokens, t * 128 + i) == 0) continue;
        ASSERT_EQ(at, -1) << "two columns read";
        at = i;
      }
      ASSERT_GE(at, 0);
      const std::int64_t e = load_id(data.selected_experts, t);
      for (std::int64_t o = 0; o < 65; ++o) {
        const double got = value_at(norm, t * 65 + o);
        if (o == 64) {
          EXPECT_TRUE(std::isnan(got));
          continue;
        }
        const double due = weight_at(data, e, o, at) * value_at(data.latent_tokens, t * 128 + at);
        ASSERT_EQ(got, due);
        ASSERT_LT(std::fabs(due), std::ldexp(1.0, 40));
        ASSERT_TRUE(due == 0 || std::fabs(due) > std::ldexp(1.0, -40));
        read.insert({code_at(data, e, o, at), scale_at(data, e, o, at / 32)});
      }
    }
    EXPECT_EQ(read.size(), 16u * 255u);
  }
}

TEST(Onehot, EverySlotIsReadByItself) {
  const CaseData data = data_of("tokens=64 experts=8 top_k=4 in=64 out=3 fill=onehot");
  std::array<int, 4> reads{};
  for (std::int64_t t = 0; t < 64; ++t) {
    int active = 0;
    for (std::int64_t j = 0; j < 4; ++j) {
      if (value_at(data.mixture_weights, t * 4 + j) == 0) continue;
      ++active;
      ++reads[static_cast<std::size_t>(j)];
    }
    EXPECT_EQ(active, 1);
  }
  for (const int count : reads) EXPECT_EQ(count, 16);
}

TEST(Onehot, FirstTokensReadBothEnds) {
  const CaseData data = data_of("tokens=2 experts=1 top_k=1 in=2880 out=1 fill=onehot");
  const auto column = [&data](std::int64_t t) {
    std::int64_t i = 0;
    while (value_at(data.latent_tokens, t * 2880 + i) == 0) ++i;
    return i;
  };
  EXPECT_EQ(column(0) / 32, 89);
  EXPECT_EQ(column(1) / 32, 0);
}

TEST(Keep, OutsideIsZeroAndInsideIsUnchanged) {
  for (Fill fill : all_fills()) {
    Case c = case_of("tokens=5 experts=4 top_k=2 in=160 out=6");
    c.fill = fill;
    const CaseData whole = data_of(c);
    c.keep_tokens = {1, 4};
    c.keep_outputs = {0, 5};
    c.keep_groups = {0, 3, 4};
    c.keep_codes = {5, 40, 100, 101, 130};
    const CaseData part = data_of(c);
    const std::set<std::int64_t> columns = {5, 100, 101, 130};  // 40 lies in group 1
    const auto kept = [](const std::vector<std::int64_t>& list, std::int64_t n) {
      return std::find(list.begin(), list.end(), n) != list.end();
    };
    std::set<std::int64_t> used;
    for (std::int64_t n = 0; n < 10; ++n) {
      EXPECT_EQ(load_id(part.selected_experts, n), load_id(whole.selected_experts, n));
      EXPECT_EQ(load_float_bits(part.mixture_weights, n), load_float_bits(whole.mixture_weights, n));
      used.insert(load_id(part.selected_experts, n));
    }
    for (std::int64_t t = 0; t < 5; ++t) {
      for (std::int64_t i = 0; i < 160; ++i) {
        const bool in = kept(c.keep_tokens, t) && columns.count(i) != 0;
        EXPECT_EQ(load_float_bits(part.latent_tokens, t * 160 + i),
                  in ? load_float_bits(whole.latent_tokens, t * 160 + i) : 0);
      }
      for (std::int64_t o = 0; o < 6; ++o) {
        const bool in = kept(c.keep_tokens, t) && kept(c.keep_outputs, o);
        EXPECT_EQ(load_float_bits(part.shared_output, t * 6 + o),
                  in ? load_float_bits(whole.shared_output, t * 6 + o) : 0);
      }
    }
    for (const std::int64_t e : used) {
      for (std::int64_t o = 0; o < 6; ++o) {
        for (std::int64_t i = 0; i < 160; ++i) {
          const bool in = kept(c.keep_outputs, o) && columns.count(i) != 0;
          EXPECT_EQ(code_at(part, e, o, i), in ? code_at(whole, e, o, i) : 0u);
        }
        for (std::int64_t g = 0; g < 5; ++g) {
          const bool in = kept(c.keep_outputs, o) && (g == 0 || g == 3 || g == 4);
          EXPECT_EQ(scale_at(part, e, o, g), in ? scale_at(whole, e, o, g) : 127u);
        }
      }
    }
  }
}

TEST(Size, UnselectedExpertsAreNeverTouched) {
  const CaseData data = data_of("tokens=1 experts=896 top_k=2 in=3072 out=3584 fill=real route=400+800");
  EXPECT_EQ(data.packed_weights.bytes(), std::size_t{896} * 3584 * 1536);
  const auto weight = [&data](std::int64_t e) { return scale_at(data, e, 3583, 95); };
  EXPECT_NEAR(weight(400), 120, 6);
  EXPECT_NEAR(weight(800), 120, 6);
  EXPECT_EQ(weight(399), 0u);
}

TEST(Size, TooMuchIsAnError) {
  const Result<CaseData> data = generate(case_of("tokens=1000000 in=1048576 out=1"));
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().rule.substr(0, 6), "DATA-5");
  const Result<CaseData> poison = generate(case_of("experts=896 in=3072 out=65536 routing=poison"));
  ASSERT_FALSE(poison);
  EXPECT_EQ(poison.error().rule.substr(0, 6), "DATA-5");
}

}  // namespace
}  // namespace moe4::oracle
