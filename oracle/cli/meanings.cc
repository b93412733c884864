#include "oracle/cli/meanings.h"

#include <array>

#include "reference/accumulate/accumulation.h"
#include "reference/profile/int4_dequant.h"

namespace moe4::oracle::cli {

std::string_view meaning_of(Op op) {
  switch (op) {
    case Op::kExpertLinear:
      return "tokens through their experts, weighted and added to the shared output";
    case Op::kIndexed:
      return "rows by sorted route ids, one expert a block; rows that no id names are left alone";
    case Op::kGroupedContiguous:
      return "each row of one buffer says its expert, -1 is padding";
    case Op::kGroupedMasked:
      return "max_m rows for each expert, the first masked_m in use";
    case Op::kCombine:
      return "the rows of a token's slots, weighted and added to the shared output";
  }
  return "";
}

std::string_view meaning_of(WeightFormat format) {
  return format == WeightFormat::kMxfp4 ? "E2M1 codes, one E8M0 scale byte for 32"
                                        : "q + 8 in four bits, one BF16 scale for 32; RNE_bf16(q · scale)";
}

std::string_view meaning_of(Fill fill) {
  switch (fill) {
    case Fill::kExact8:
      return "sparse; sums below 2^8 units, so every order and intermediate of 8 bits is exact and the bits "
             "are due";
    case Fill::kExact24:
      return "dense; sums below 2^24 units, so every order of FP32 additions gives the same sum";
    case Fill::kBits:
      return "codes and scale bytes (int4: exponent fields) uniform inside windows over all of them";
    case Fill::kReal:
      return "Gaussian tokens, weights as quantisation-aware training leaves them";
    case Fill::kOnehot:
      return "each token holds one non-zero element: reads single weights";
    case Fill::kPositive:
      return "no cancellation: every term has the same sign";
    case Fill::kNonfinite:
      return "NaN and Inf among tokens, mixture weights, shared output and scales";
    case Fill::kCancel:
      return "large terms that cancel to small sums";
    case Fill::kSlabCancel:
      return "slabs along I that cancel, with tiny terms";
    case Fill::kTies:
      return "sums at and beside the midpoints of the output dtype";
    case Fill::kSubnormal:
      return "subnormal operands and results";
    case Fill::kTallPairs:
      return "+M and -M among terms of 0.4 ulp(M): tells orders of additions apart";
  }
  return "";
}

std::string_view meaning_of(Routing routing) {
  switch (routing) {
    case Routing::kUniform:
      return "distinct experts, uniformly";
    case Routing::kHot:
      return "a few experts get most slots";
    case Routing::kOne:
      return "one expert gets all";
    case Routing::kEmpty:
      return "some experts get no token";
    case Routing::kDuplicate:
      return "tokens that name an expert more than once";
    case Routing::kBoundary:
      return "tokens per expert at a tile and one beside it";
    case Routing::kPoison:
      return "NaN in everything that may not be read";
    case Routing::kSentinel:
      return "blocks with more padding than needed, and blocks of nothing but padding";
    case Routing::kMinusOne:
      return "slots, and whole tokens, without an expert";
    case Routing::kUnsorted:
      return "the ids of an expert in no order: later tiles may have the smaller ids";
  }
  return "";
}

std::string_view meaning_of(std::string_view key, std::string_view value) {
  struct Line {
    std::string_view value, meaning;
  };
  static constexpr std::array kProfiles = {
      Line{"once", "nowhere but at the end"},
      Line{"late", "each p·d to the output dtype, their sum, and the sum with shared"},
      Line{"late_bf16_sum", "each p·d to the output dtype, and after every addition"},
      Line{"hf", "each d to the output dtype, the sum of p·d, and the sum with shared"},
      Line{"early", "p·x to the output dtype before the product with the weights"},
      Line{"exact", "the exact sum"},
      Line{"f32_sequential", "FP32, one rounded addition after the other"},
  };
  if (key == "dequant") {
    for (const Int4OrderInfo& info : int4_orders()) {
      if (info.name == value) return info.formula;
    }
  }
  for (const TensorCore& unit : tensor_cores()) {
    if (key == "accumulation" && unit.name == value) return unit.instructions;
  }
  for (const Line& line : kProfiles) {
    if (line.value == value) return line.meaning;
  }
  return "";
}

}  // namespace moe4::oracle::cli
