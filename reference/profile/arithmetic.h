// Everything that a subject declares of its arithmetic: where it rounds, what it takes for a weight, how and
// in which order it adds (docs/spec/profiles.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/accumulate/accumulation.h"
#include "reference/accumulate/order.h"
#include "reference/formats/weight_format.h"
#include "reference/profile/int4_dequant.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4 {

// Where the terms of an output are rounded to the output dtype on their way into it.
enum class RoundingProfile : std::uint8_t {
  kOnce,         // nowhere but at the end (PRO-5)
  kLate,         // each p·d, their sum, and the sum with shared (PRO-6)
  kLateBf16Sum,  // each p·d, and after every addition (PRO-7)
  kHf,           // each d; the sum of p·d; and the sum with shared (PRO-8)
  kEarly,        // p·x, each element, before the product with the weights (PRO-9)
};

// What an MXFP4 kernel multiplies with: the weight, or its BF16, which overflows from scale byte 253 on.
enum class WeightOperand : std::uint8_t { kExact, kBf16 };

struct Arithmetic {
  Order order = {};              // default: any
  bool product_rounded = false;  // w·x is rounded before it is added (no FMA); only matters if inexact
  bool ftz = false;              // subnormal results and operands are flushed
  RoundingProfile profile = RoundingProfile::kOnce;
  WeightOperand weight = WeightOperand::kExact;
  Int4Order dequant = Int4Order::kNorm;
  Accumulation accumulation = {};

  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

std::string_view name_of(RoundingProfile profile);  // "once", …
Result<RoundingProfile> parse_rounding_profile(
    std::string_view);  // an unknown name: an Error that lists them

// PRO-19: "profile=late order=seq", what differs from the default; and back.
std::string to_string(const Arithmetic& arithmetic);
Result<Arithmetic> parse_arithmetic(std::string_view text);
// One of its words, "profile=late". An unknown key or value is an Error that lists the known ones.
Status set_word(Arithmetic& arithmetic, std::string_view word);

// The same a key at a time: profile order accumulation products ftz weight dequant.
std::vector<std::string_view> arithmetic_keys();
// The values of a key where they are a few words; none for order and for what is no key.
std::vector<std::string> arithmetic_values(std::string_view key);
// What word of the key gives the arithmetic; empty for what is no key.
std::string arithmetic_value(const Arithmetic& arithmetic, std::string_view key);

// PRO-20: an Error for what nothing can compute. output: the dtype of latent_tokens and output; for combine
// that of the output, and no weights.
struct ArithmeticUse {
  Dtype output = Dtype::kBF16;
  std::optional<WeightFormat> weights;
};
Status check_arithmetic(const Arithmetic& arithmetic, const ArithmeticUse& use);

}  // namespace moe4
