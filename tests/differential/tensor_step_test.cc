// The step of every tensor core generation: the reference against the slow model, bit for bit, on 10^5 drawn
// steps each; and wrong steps, each of which the same draws must tell.
#include "tests/support/slow_model/tensor_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <sstream>

#include "reference/accumulate/tensor_core.h"
#include "tests/differential/draw_step.h"

namespace differential {
namespace {

using namespace slow_model;
using problems::Draw;

constexpr int kSteps = 100000;

std::vector<std::uint16_t> narrow(const std::vector<std::uint64_t>& bits) {
  return {bits.begin(), bits.end()};
}

moe4::Dtype dtype_of(const FloatFormat& format) {
  return format == kBf16 ? moe4::Dtype::kBF16 : moe4::Dtype::kF16;
}

std::string show(const DrawnStep& step, std::uint32_t slow, std::uint32_t reference) {
  std::ostringstream text;
  text << step.format.name << std::hex << " c " << step.c;
  for (std::size_t k = 0; k < step.a.size(); ++k) text << ", " << step.a[k] << "*" << step.b[k];
  text << ": slow model " << slow << ", reference " << reference;
  return text.str();
}

// "" if `count` drawn steps agree. One sequence of draws a generation, the same for every model.
std::string disagreement(const TensorStep& model, const Generation& generation, int count) {
  const moe4::TensorCore* unit = moe4::tensor_core(generation.name);
  if (unit == nullptr) return "the reference has no " + generation.name;
  Draw draw(std::uint64_t{11});
  for (int n = 0; n < count; ++n) {
    const DrawnStep step = draw_step(draw, generation);
    const std::uint32_t slow = model.step(generation, step.format, step.a, step.b, step.c);
    const std::uint32_t reference =
        moe4::tensor_core_step(*unit, dtype_of(step.format), step.c, narrow(step.a), narrow(step.b));
    if (slow != reference) return "step " + std::to_string(n) + ": " + show(step, slow, reference);
  }
  return "";
}

class EachGeneration : public ::testing::TestWithParam<Generation> {};

TEST_P(EachGeneration, TheReferencesStepEqualsTheSlowModels) {
  EXPECT_EQ(disagreement(TensorStep(), GetParam(), kSteps), "");
}

// ACC-7, ACC-13: chains of any length, and instructions of several steps or of a part of one.
TEST_P(EachGeneration, ChainsAndInstructionsAreSteps) {
  const Generation& generation = GetParam();
  const moe4::TensorCore* unit = moe4::tensor_core(generation.name);
  ASSERT_NE(unit, nullptr);
  Draw draw(std::uint64_t{7});
  for (int n = 0; n < 2000; ++n) {
    DrawnStep all = draw_step(draw, generation);
    for (std::int64_t more = draw.between(0, 3); more > 0; --more) {
      const DrawnStep next = draw_step(draw, generation);
      if (!(next.format == all.format)) continue;
      all.a.insert(all.a.end(), next.a.begin(), next.a.end());
      all.b.insert(all.b.end(), next.b.begin(), next.b.end());
    }
    const moe4::Dtype dtype = dtype_of(all.format);
    std::vector<moe4::TensorOperand> a;
    std::vector<moe4::TensorOperand> b;
    for (std::size_t k = 0; k < all.a.size(); ++k) {
      a.push_back(moe4::tensor_operand(dtype, static_cast<std::uint16_t>(all.a[k])));
      b.push_back(moe4::tensor_operand(dtype, static_cast<std::uint16_t>(all.b[k])));
    }
    ASSERT_EQ(moe4::tensor_core_chain(*unit, dtype, 0, a, b),
              TensorStep().chain(generation, all.format, all.a, all.b));

    const std::size_t length = static_cast<std::size_t>(generation.products);
    const std::size_t whole = all.a.size() < length ? all.a.size() : all.a.size() / length * length;
    std::uint32_t c = all.c;
    for (std::size_t first = 0; first < whole; first += length) {
      const std::size_t part = std::min(length, whole - first);
      c = TensorStep().step(generation, all.format, std::span(all.a).subspan(first, part),
                            std::span(all.b).subspan(first, part), c);
    }
    const std::span<const moe4::TensorOperand> left = std::span(a).first(whole);
    const std::span<const moe4::TensorOperand> right = std::span(b).first(whole);
    ASSERT_EQ(moe4::tensor_core_instruction(*unit, dtype, all.c, left, right), c);
  }
}

// ACC-14: the record.
TEST_P(EachGeneration, TheRecordIsThePages) {
  const moe4::TensorCore* unit = moe4::tensor_core(GetParam().name);
  ASSERT_NE(unit, nullptr);
  EXPECT_EQ(unit->products, GetParam().products);
  EXPECT_EQ(unit->fraction_bits, GetParam().fraction_bits);
  EXPECT_EQ(unit->zero_exponent, GetParam().zero_exponent);
  EXPECT_EQ(moe4::multiplies(*unit, moe4::Dtype::kBF16), GetParam().takes_bf16);
  EXPECT_TRUE(moe4::multiplies(*unit, moe4::Dtype::kF16));
  EXPECT_FALSE(moe4::multiplies(*unit, moe4::Dtype::kF32));
}

INSTANTIATE_TEST_SUITE_P(Tensor, EachGeneration,
                         ::testing::ValuesIn(generations().begin(), generations().end()),
                         [](const auto& instance) { return instance.param.name; });

TEST(TensorGenerations, AreThoseOfThePage) {
  ASSERT_EQ(moe4::tensor_cores().size(), generations().size());
  for (std::size_t n = 0; n < generations().size(); ++n) {
    EXPECT_EQ(moe4::tensor_cores()[n].name, generations()[n].name);
  }
}

// Wrong steps.

struct OneBitMore : TensorStep {
  int fraction_bits(const Generation& g) const override { return g.fraction_bits + 1; }
};
struct OneBitFewer : TensorStep {
  int fraction_bits(const Generation& g) const override { return g.fraction_bits - 1; }
};
struct ResultToNearest : TensorStep {
  std::uint32_t result(std::int64_t sum, long grid) const override {
    const ShortNumber exact{ShortNumber::Kind::kFinite, sum < 0,
                            static_cast<std::uint64_t>(sum < 0 ? -sum : sum), grid};
    return static_cast<std::uint32_t>(round_to(kF32, exact));
  }
};
struct TermsToNearest : TensorStep {
  std::int64_t cut(const Term& term, long grid) const override {
    const long dropped = grid - term.last_place;
    const std::int64_t cut = TensorStep::cut(term, grid);
    if (dropped <= 0 || dropped > 63) return cut;
    const bool up = (term.magnitude >> (dropped - 1)) % 2 == 1;
    return up ? cut + (term.negative ? -1 : 1) : cut;
  }
};
struct TermsDown : TensorStep {  // toward minus infinity, as two's complement shifts do
  std::int64_t cut(const Term& term, long grid) const override {
    const long dropped = grid - term.last_place;
    const std::int64_t cut = TensorStep::cut(term, grid);
    const bool inexact = term.magnitude != 0 && dropped > std::countr_zero(term.magnitude);
    return term.negative && inexact ? cut - 1 : cut;
  }
};
struct LargestWithoutC : TensorStep {
  long largest_exponent(std::span<const Term> products, const Term& c) const override {
    long largest = products.front().counts_with;
    for (const Term& term : products) largest = std::max(largest, term.counts_with);
    return std::max(largest, c.counts_with - 8);  // farther apart, c would leave 64 bits
  }
};
struct ZeroOperandCounts : TensorStep {  // the first version of ACC-15
  Term product(const Generation& g, const FloatFormat& format, std::uint64_t a,
               std::uint64_t b) const override {
    Term term = TensorStep::product(g, format, a, b);
    term.counts_with = exponent_of(format, a) + exponent_of(format, b);
    return term;
  }
};
struct ZeroNeverCounts : TensorStep {
  Term product(const Generation& g, const FloatFormat& format, std::uint64_t a,
               std::uint64_t b) const override {
    Term term = TensorStep::product(g, format, a, b);
    if (term.magnitude == 0) term.counts_with = -1000;
    return term;
  }
  Term addend(const Generation& g, std::uint32_t c) const override {
    Term term = TensorStep::addend(g, c);
    if (term.magnitude == 0) term.counts_with = -1000;
    return term;
  }
};
struct ZeroExponentOneMore : TensorStep {
  Term product(const Generation& g, const FloatFormat& format, std::uint64_t a,
               std::uint64_t b) const override {
    Term term = TensorStep::product(g, format, a, b);
    if (term.magnitude == 0) term.counts_with += 8;
    return term;
  }
};
struct ZeroCCountsAsSubnormal : TensorStep {
  Term addend(const Generation& g, std::uint32_t c) const override {
    Term term = TensorStep::addend(g, c);
    term.counts_with = exponent_of(kF32, c);
    return term;
  }
};
struct SubnormalsNormalised : TensorStep {
  long exponent_of(const FloatFormat& format, std::uint64_t bits) const override {
    const ShortNumber value = short_value_of(format, bits);
    if (!value.is_finite() || value.is_zero()) return TensorStep::exponent_of(format, bits);
    return value.exponent + std::bit_width(value.magnitude) - 1;
  }
};
struct SubnormalOperandsAreZero : TensorStep {
  Term product(const Generation& g, const FloatFormat& format, std::uint64_t a,
               std::uint64_t b) const override {
    const auto flush = [&](std::uint64_t bits) {
      return (bits & format.infinity()) == 0 ? bits & format.sign_bit() : bits;
    };
    return TensorStep::product(g, format, flush(a), flush(b));
  }
};
struct SubnormalCIsZero : TensorStep {
  Term addend(const Generation& g, std::uint32_t c) const override {
    return TensorStep::addend(g, (c & 0x7F800000) == 0 ? c & 0x80000000 : c);
  }
};
struct ProductsRenormalised : TensorStep {
  Term product(const Generation& g, const FloatFormat& format, std::uint64_t a,
               std::uint64_t b) const override {
    Term term = TensorStep::product(g, format, a, b);
    if (term.magnitude >> (2 * format.mantissa_bits + 1) != 0) term.counts_with += 1;
    return term;
  }
};
struct Saturates : TensorStep {
  std::uint32_t result(std::int64_t sum, long grid) const override {
    const std::uint32_t bits = TensorStep::result(sum, grid);
    return (bits & 0x7FFFFFFF) == 0x7F800000 ? bits - 1 : bits;
  }
};
struct SubnormalResultFlushed : TensorStep {
  std::uint32_t result(std::int64_t sum, long grid) const override {
    const std::uint32_t bits = TensorStep::result(sum, grid);
    return (bits & 0x7F800000) == 0 ? bits & 0x80000000 : bits;
  }
};
struct VanishedResultIsPlusZero : TensorStep {
  std::uint32_t result(std::int64_t sum, long grid) const override {
    const std::uint32_t bits = TensorStep::result(sum, grid);
    return bits == 0x80000000 ? 0 : bits;
  }
};
struct CanonicalNan : TensorStep {
  std::uint32_t nan() const override { return 0x7FC00000; }
};

TEST(WrongTensorSteps, AreToldInEveryGeneration) {
  struct Wrong {
    const char* name;
    std::shared_ptr<const TensorStep> model;
    bool needs_bf16 = false;  // F16 products are too large, or too small, to show it
  };
  const Wrong wrong[] = {
      {"OneBitMore", std::make_shared<OneBitMore>()},
      {"OneBitFewer", std::make_shared<OneBitFewer>()},
      {"ResultToNearest", std::make_shared<ResultToNearest>()},
      {"TermsToNearest", std::make_shared<TermsToNearest>()},
      {"TermsDown", std::make_shared<TermsDown>()},
      {"LargestWithoutC", std::make_shared<LargestWithoutC>()},
      {"ZeroOperandCounts", std::make_shared<ZeroOperandCounts>()},
      {"ZeroNeverCounts", std::make_shared<ZeroNeverCounts>(), true},
      {"ZeroExponentOneMore", std::make_shared<ZeroExponentOneMore>()},
      {"ZeroCCountsAsSubnormal", std::make_shared<ZeroCCountsAsSubnormal>(), true},
      {"SubnormalsNormalised", std::make_shared<SubnormalsNormalised>()},
      {"SubnormalOperandsAreZero", std::make_shared<SubnormalOperandsAreZero>()},
      {"SubnormalCIsZero", std::make_shared<SubnormalCIsZero>()},
      {"ProductsRenormalised", std::make_shared<ProductsRenormalised>()},
      {"Saturates", std::make_shared<Saturates>(), true},
      {"SubnormalResultFlushed", std::make_shared<SubnormalResultFlushed>()},
      {"VanishedResultIsPlusZero", std::make_shared<VanishedResultIsPlusZero>(), true},
      {"CanonicalNan", std::make_shared<CanonicalNan>()},
  };
  for (const Generation& generation : generations()) {
    for (const Wrong& w : wrong) {
      if (w.needs_bf16 && !generation.takes_bf16) continue;
      EXPECT_NE(disagreement(*w.model, generation, kSteps), "") << w.name << " on " << generation.name;
    }
  }
}

// A step of half the length shows in chains only.
struct HalfStep : TensorStep {
  int products(const Generation& g) const override { return g.products / 2; }
};

TEST(WrongTensorSteps, HalfALengthIsTold) {
  for (const Generation& generation : generations()) {
    Draw draw(std::uint64_t{3});
    int told = 0;
    for (int n = 0; n < 1000; ++n) {
      const DrawnStep step = draw_step(draw, generation);
      told += TensorStep().chain(generation, step.format, step.a, step.b) !=
                      HalfStep().chain(generation, step.format, step.a, step.b)
                  ? 1
                  : 0;
    }
    EXPECT_GT(told, 10) << generation.name;
  }
}

}  // namespace
}  // namespace differential
