// A case is one line of text: lists, command line, test names, reports and replay all use it
// (docs/spec/case_line.md).
//
//   op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 fill=exact8
//   routing=duplicate seed=0x2a
//
// parse_case(to_string(c)) == c for every valid case, and to_string(parse_case(line)) is the canonical form
// of the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case/op.h"
#include "reference/formats/weight_format.h"
#include "reference/layout/weight_layout.h"
#include "reference/policy.h"
#include "reference/status.h"
#include "reference/tensor.h"

namespace moe4::oracle {

enum class Fill {
  kExact8,
  kExact24,
  kBits,
  kReal,
  kOnehot,
  kPositive,
  kNonfinite,
  kCancel,
  kSlabCancel,
  kTies,
  kSubnormal,
  kTallPairs
};
enum class Routing {
  kUniform,
  kHot,
  kOne,
  kEmpty,
  kDuplicate,
  kBoundary,
  kPoison,
  kSentinel,
  kMinusOne,
  kUnsorted
};

std::string_view name_of(Fill fill);        // "exact8", ...
std::string_view name_of(Routing routing);  // "uniform", ...
std::vector<Fill> all_fills();
std::vector<Routing> all_routings();

// Scale bytes (int4: the exponent fields of the scales) are drawn from lo..hi (both ends included).
struct ScaleWindow {
  std::uint8_t lo = 0;
  std::uint8_t hi = 255;
  friend bool operator==(const ScaleWindow&, const ScaleWindow&) = default;
};

// ep=rank(r,n): what rank r of n sees, which has the experts r·E/n … (r+1)·E/n - 1.
struct ExpertRank {
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  friend bool operator==(const ExpertRank&, const ExpertRank&) = default;
};

struct Case {
  Op op = Op::kExpertLinear;
  WeightFormat weights = WeightFormat::kMxfp4;
  std::int64_t tokens = 1;
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
  std::int64_t in = 32;
  std::int64_t out = 1;
  Dtype dtype = Dtype::kBF16;         // of latent_tokens and output
  std::optional<Dtype> mixture;       // of mixture_weights; default F32
  std::optional<Dtype> shared;        // of shared_output; default: dtype
  Dtype ids_dtype = Dtype::kI32;      // of selected_experts
  std::optional<std::string> layout;  // of the weights that a subject gets; default: that of case files
  std::optional<std::int64_t> block_m, max_m, expected_m, capacity;
  std::optional<ExpertRank> ep;
  Fill fill = Fill::kExact8;
  Routing routing = Routing::kUniform;
  std::optional<ScaleWindow> scales;  // scales=window(lo,hi)
  std::vector<std::int64_t> route;    // route=400+800: only these experts are ever selected; empty: all
  Policy policy;
  std::uint64_t seed = 1;
  std::optional<std::string> hardware;    // generation of tensor cores; default: the subject's (CASE-19)
  std::optional<std::uint64_t> schedule;  // executor schedule seed
  // Support of a shrunk case: outside of it tokens, codes and shared are zero. Empty: everything is kept.
  std::vector<std::int64_t> keep_tokens;
  std::vector<std::int64_t> keep_outputs;
  std::vector<std::int64_t> keep_groups;
  std::vector<std::int64_t> keep_codes;  // indices i within a row

  Dtype mixture_dtype() const { return mixture.value_or(Dtype::kF32); }
  Dtype shared_dtype() const { return shared.value_or(dtype); }
  // Rows of a block of ids, or of the tile that a run of rows is aligned to.
  std::int64_t block_rows() const { return block_m.value_or(op == Op::kGroupedContiguous ? 128 : 16); }
  // How many experts the tensors hold, and which one is the first of them.
  std::int64_t local_experts() const { return ep ? experts / ep->ranks : experts; }
  std::int64_t first_expert() const { return ep ? ep->rank * local_experts() : 0; }
  // Precondition: valid.
  const WeightLayout& weight_layout() const {
    return layout ? *find_weight_layout(*layout) : *logical_layout(name_of(weights));
  }

  friend bool operator==(const Case&, const Case&) = default;
};

Result<Case> parse_case(std::string_view line);
std::string to_string(const Case& c);

// CASE-6 … CASE-18: nothing, or the first rule that c breaks. parse_case and generate call it.
Status validate_case(const Case& c);

// A list file: one case a line, '#' starts a comment, blank lines are skipped. The error names the line.
Result<std::vector<Case>> parse_case_list(std::string_view text);

}  // namespace moe4::oracle
