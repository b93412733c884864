#include "oracle/case/validate_op.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "oracle/case/nearest.h"
#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

// A key that only some operations take; present: the case gives it.
struct OpKey {
  const char* name;
  std::vector<Op> ops;
  bool (*present)(const Case& c);
};

const std::vector<OpKey>& op_keys() {
  static const std::vector<Op> kMixing = {Op::kExpertLinear, Op::kCombine};
  static const std::vector<Op> kPadding = {Op::kIndexed, Op::kGroupedContiguous};
  static const std::vector<OpKey> table = {
      {"mixture", kMixing, [](const Case& c) { return c.mixture.has_value(); }},
      {"shared", kMixing, [](const Case& c) { return c.shared.has_value(); }},
      {"ids_dtype", kMixing, [](const Case& c) { return c.ids_dtype != Dtype::kI32; }},
      {"skip_zero_p", kMixing, [](const Case& c) { return c.policy.skip_zero_p != SkipZeroP::kNo; }},
      {"ids", {Op::kExpertLinear}, [](const Case& c) { return c.policy.ids != Ids::kError; }},
      {"layout",
       {Op::kExpertLinear, Op::kIndexed, Op::kGroupedContiguous, Op::kGroupedMasked},
       [](const Case& c) { return c.layout.has_value(); }},
      {"block_m", kPadding, [](const Case& c) { return c.block_m.has_value(); }},
      {"max_m", {Op::kGroupedMasked}, [](const Case& c) { return c.max_m.has_value(); }},
      {"expected_m", {Op::kGroupedMasked}, [](const Case& c) { return c.expected_m.has_value(); }},
      {"capacity", kPadding, [](const Case& c) { return c.capacity.has_value(); }},
  };
  return table;
}

std::vector<std::string> names_of(const std::vector<Op>& ops) {
  std::vector<std::string> names;
  for (const Op op : ops) names.emplace_back(name_of(op));
  return names;
}

// CASE-13.
Status check_keys(const Case& c) {
  for (const OpKey& key : op_keys()) {
    if (!key.present(c) || std::find(key.ops.begin(), key.ops.end(), c.op) != key.ops.end()) continue;
    const std::vector<std::string> takers = names_of(key.ops);
    return Error{key.name, std::string(name_of(c.op)),
                 fmt::format("CASE-13: only op={} takes this key; did you mean op={}?",
                             fmt::join(takers, ", "), nearest_name(name_of(c.op), takers))};
  }
  return {};
}

Error refuse(std::string field, std::int64_t value, std::string rule) {
  return {std::move(field), std::to_string(value), std::move(rule)};
}

// CASE-14.
Status check_rows(const Case& c) {
  if (!is_row_op(c.op)) return {};
  if (c.dtype != Dtype::kBF16) {
    return Error{"dtype", dtype_word(c.dtype),
                 fmt::format("CASE-14: rows of op={} are bf16; did you mean bf16?", name_of(c.op))};
  }
  constexpr std::int64_t kLargest = (std::int64_t{1} << 31) - 1;
  if (c.experts > kLargest) {
    return refuse("experts", c.experts, "CASE-14: an i32 names at most 2^31 - 1 experts");
  }
  if (c.top_k > 0 && c.tokens > kLargest / c.top_k) {
    return refuse("tokens", c.tokens, "CASE-14: an i32 names at most 2^31 - 1 rows, tokens·top_k");
  }
  if (c.op == Op::kIndexed && c.top_k < 1) return refuse("top_k", c.top_k, "CASE-14: op=indexed has slots");
  return {};
}

// The op that a layout is made for; nullopt: any.
std::optional<Op> op_of_layout(std::string_view name) {
  if (name == "indexed_mma" || name == "indexed_wgmma") return Op::kIndexed;
  if (name == "grouped_contiguous") return Op::kGroupedContiguous;
  if (name == "grouped_masked") return Op::kGroupedMasked;
  return std::nullopt;
}

bool fits(const WeightLayout& layout, const Case& c) {
  return layout.weights == name_of(c.weights) && op_of_layout(layout.name).value_or(c.op) == c.op;
}

// CASE-15.
Status check_layout(const Case& c) {
  if (!c.layout) return {};
  const WeightLayout* layout = find_weight_layout(*c.layout);
  std::vector<std::string> known;
  for (const WeightLayout* other : weight_layouts()) {
    if (fits(*other, c)) known.emplace_back(other->name);
  }
  if (layout == nullptr || !fits(*layout, c)) {
    return Error{
        "layout", *c.layout,
        fmt::format("CASE-15: no layout of weights={} op={}; did you mean {}? known: {}", name_of(c.weights),
                    name_of(c.op), nearest_name(*c.layout, known), fmt::join(known, " "))};
  }
  const Status error = check_extent(*layout, {c.local_experts(), c.out, c.in});
  if (error && layout != logical_layout(name_of(c.weights))) {
    return Error{"layout", *c.layout, "CASE-15: " + error->message()};
  }
  return {};
}

// CASE-16.
Status check_sizes(const Case& c) {
  const auto outside = [](const std::optional<std::int64_t>& value, std::int64_t least, std::int64_t most) {
    return value && (*value < least || *value > most);
  };
  constexpr std::int64_t kMostRows = (std::int64_t{1} << 31) - 1;
  if (outside(c.block_m, 1, std::int64_t{1} << 20)) {
    return refuse("block_m", *c.block_m, "CASE-16: in 1..2^20");
  }
  if (outside(c.max_m, 0, kMostRows)) return refuse("max_m", *c.max_m, "CASE-16: in 0..2^31-1");
  if (outside(c.expected_m, 1, kMostRows)) {
    return refuse("expected_m", *c.expected_m, "CASE-16: in 1..2^31-1");
  }
  if (outside(c.capacity, 0, kMostRows)) return refuse("capacity", *c.capacity, "CASE-16: in 0..2^31-1");
  return {};
}

// CASE-17.
Status check_ep(const Case& c) {
  if (!c.ep) return {};
  const std::string text = fmt::format("rank({},{})", c.ep->rank, c.ep->ranks);
  if (c.ep->ranks < 1 || c.ep->rank < 0 || c.ep->rank >= c.ep->ranks) {
    return Error{"ep", text, "CASE-17: rank(r,n) with 0 <= r < n"};
  }
  if (c.experts % c.ep->ranks != 0) return Error{"ep", text, "CASE-17: n divides the number of experts"};
  if (c.op == Op::kExpertLinear && c.policy.ids != Ids::kAbsent) {
    return Error{"ep", text, "CASE-17: slots of other ranks are -1, so op=expert_linear needs ids=absent"};
  }
  return {};
}

// CASE-18.
Status check_routing_of_op(const Case& c) {
  const std::string routing(name_of(c.routing));
  if (c.routing == Routing::kSentinel && c.op != Op::kIndexed && c.op != Op::kGroupedContiguous) {
    return Error{
        "routing", routing,
        fmt::format("CASE-18: op={} has no padding among its rows; did you mean minus_one?", name_of(c.op))};
  }
  if (c.routing == Routing::kUnsorted && c.op != Op::kIndexed) {
    return Error{"routing", routing,
                 fmt::format("CASE-18: op={} has no list of ids; did you mean uniform?", name_of(c.op))};
  }
  if (c.routing == Routing::kMinusOne && c.op == Op::kExpertLinear && c.policy.ids != Ids::kAbsent) {
    return Error{"routing", routing, "CASE-18: id -1 has a meaning in op=expert_linear with ids=absent only"};
  }
  return {};
}

}  // namespace

Status check_op(const Case& c) {
  for (const auto check :
       {check_keys, check_rows, check_sizes, check_ep, check_layout, check_routing_of_op}) {
    if (Status status = check(c)) return status;
  }
  return {};
}

}  // namespace moe4::oracle
