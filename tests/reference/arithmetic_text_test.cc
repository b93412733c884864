// PRO-19, PRO-20: the words of a declared arithmetic, and what nothing can compute.
#include <gtest/gtest.h>

#include <string>

#include "reference/accumulate/tensor_core.h"
#include "reference/profile/arithmetic.h"

namespace moe4::test {
namespace {

Arithmetic arithmetic(std::string_view text) {
  const Result<Arithmetic> parsed = parse_arithmetic(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().message());
  return parsed.ok() ? parsed.value() : Arithmetic{};
}

TEST(ArithmeticText, PrintsWhatItReads) {
  EXPECT_EQ(to_string(Arithmetic{}), "");
  EXPECT_EQ(arithmetic(""), Arithmetic{});
  for (const char* text :
       {"profile=late", "profile=late_bf16_sum order=seq", "profile=hf ftz=yes", "profile=early weight=bf16",
        "order=streamk(2)*warps(64,4)+tree accumulation=hopper", "accumulation=exact dequant=exactw",
        "profile=hf order=lanes(32,8)+shfl accumulation=volta products=rounded ftz=yes weight=bf16 "
        "dequant=fma"}) {
    EXPECT_EQ(to_string(arithmetic(text)), text);
  }
}

TEST(ArithmeticText, AnyOrderOfWordsAndDefaultsMayBeSaid) {
  EXPECT_EQ(to_string(arithmetic("ftz=yes order=any profile=hf products=fma weight=exact dequant=norm")),
            "profile=hf ftz=yes");
  EXPECT_EQ(arithmetic("ftz=no accumulation=f32_sequential profile=once"), Arithmetic{});
}

TEST(ArithmeticText, RefusesEverythingElse) {
  for (const char* text : {" ", "profile", "profile=", "=late", "profile=vllm", "profile=late ",
                           " profile=late", "profile=late  ftz=yes", "profile=late profile=late",
                           "profile = late", "ftz=true", "products=exact", "weight=f16", "dequant=bf16",
                           "accumulation=rubin", "order=slices", "Profile=late", "hardware=hopper"}) {
    const Result<Arithmetic> parsed = parse_arithmetic(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_FALSE(parsed.error().rule.empty());
  }
}

// The rule that check_arithmetic names, "" if it has nothing against it.
std::string refusal(std::string_view text, Dtype dtype, std::optional<WeightFormat> weights) {
  const Status error = check_arithmetic(arithmetic(text), {dtype, weights});
  return error ? error->rule.substr(0, 6) : "";
}

TEST(ArithmeticChecks, WeightsOfTheOtherFormat) {
  EXPECT_EQ(refusal("weight=bf16", Dtype::kBF16, WeightFormat::kMxfp4), "");
  EXPECT_EQ(refusal("weight=bf16", Dtype::kBF16, WeightFormat::kInt4), "PRO-20");
  EXPECT_EQ(refusal("dequant=fma", Dtype::kBF16, WeightFormat::kInt4), "");
  EXPECT_EQ(refusal("dequant=fma", Dtype::kBF16, WeightFormat::kMxfp4), "PRO-20");
}

TEST(ArithmeticChecks, OperandsOfTensorCores) {
  for (const TensorCore& unit : tensor_cores()) {
    const std::string text = "accumulation=" + std::string(unit.name);
    EXPECT_EQ(refusal(text, Dtype::kF16, WeightFormat::kMxfp4), "");
    EXPECT_EQ(refusal(text, Dtype::kBF16, WeightFormat::kMxfp4), unit.bf16 ? "" : "PRO-20") << text;
    EXPECT_EQ(refusal(text, Dtype::kF32, WeightFormat::kMxfp4), "PRO-20");
    EXPECT_EQ(refusal(text, Dtype::kF64, WeightFormat::kInt4), "PRO-20");
    EXPECT_EQ(refusal(text + " products=rounded", Dtype::kF16, WeightFormat::kMxfp4), "PRO-20");
    EXPECT_EQ(refusal(text + " dequant=exactw", Dtype::kF16, WeightFormat::kInt4), "PRO-20");
    EXPECT_EQ(refusal(text + " dequant=accumulator_scale", Dtype::kF16, WeightFormat::kInt4), "");
    EXPECT_EQ(refusal(text + " weight=bf16", Dtype::kF16, WeightFormat::kMxfp4), "PRO-20");
    EXPECT_EQ(refusal(text + " ftz=yes", Dtype::kF16, WeightFormat::kMxfp4), "");
  }
}

TEST(ArithmeticChecks, ExactRoundsNothing) {
  EXPECT_EQ(refusal("accumulation=exact", Dtype::kF64, WeightFormat::kMxfp4), "");
  EXPECT_EQ(refusal("accumulation=exact products=rounded", Dtype::kF64, WeightFormat::kMxfp4), "PRO-20");
  EXPECT_EQ(refusal("accumulation=exact ftz=yes", Dtype::kBF16, std::nullopt), "PRO-20");
}

TEST(ArithmeticChecks, StreamK) {
  EXPECT_EQ(refusal("order=streamk(3)", Dtype::kBF16, WeightFormat::kInt4), "");
  EXPECT_EQ(refusal("order=streamk(4)", Dtype::kBF16, WeightFormat::kInt4), "PRO-18");
  EXPECT_EQ(refusal("order=streamk(1)", Dtype::kF16, WeightFormat::kMxfp4), "PRO-18");
  EXPECT_EQ(refusal("order=split(9)", Dtype::kF16, WeightFormat::kMxfp4), "");
}

TEST(ArithmeticChecks, Combine) {
  EXPECT_EQ(refusal("profile=early", Dtype::kBF16, std::nullopt), "PRO-11");
  EXPECT_EQ(refusal("profile=hf order=streamk(9) accumulation=volta weight=bf16 dequant=fma", Dtype::kF64,
                    std::nullopt),
            "");
}

}  // namespace
}  // namespace moe4::test
