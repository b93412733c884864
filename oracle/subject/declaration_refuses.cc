// Which cases a subject accepts.
#include <algorithm>

#include "oracle/case/words.h"
#include "oracle/subject/declaration.h"

namespace moe4::oracle {
namespace {

bool contains(const std::vector<Dtype>& list, Dtype dtype) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

std::string refusal(std::string_view key, std::string_view value, std::string_view accepts) {
  return std::string(key) + "=" + std::string(value) + " (accepts " + std::string(accepts) + ")";
}

std::string refusal(std::string_view key, Dtype dtype, const std::vector<Dtype>& accepted) {
  std::string names;
  for (const Dtype d : accepted) names += (names.empty() ? "" : ", ") + dtype_word(d);
  return refusal(key, dtype_word(dtype), names);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

template <class Value>
std::string names_of(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name_of(value));
  return joined(names);
}

// A case without layout= has its weights as case files have them.
bool takes_layout(const Declaration& d, const Case& c) {
  const WeightLayout* logical = logical_layout(name_of(c.weights));
  if (d.layouts.empty()) return !c.layout || &c.weight_layout() == logical;
  return std::find(d.layouts.begin(), d.layouts.end(), c.weight_layout().name) != d.layouts.end();
}

// CASE-19: the chip must decide something, and the declared arithmetic must be one of its (PRO-20).
std::optional<std::string> refuses_hardware(const Declaration& d, const Case& c) {
  if (!d.any_accumulation && d.arithmetic.accumulation.kind != Accumulation::Kind::kTensorCore) {
    return refusal("hardware", *c.hardware, "none: no tensor core is declared");
  }
  const Status error = check_arithmetic(arithmetic_on(d, c), {c.dtype, c.weights});
  if (c.op == Op::kCombine || !error) return std::nullopt;
  return "hardware=" + *c.hardware + " (" + error->rule + ")";
}

}  // namespace

Arithmetic arithmetic_on(const Declaration& declaration, const Case& c) {
  Arithmetic arithmetic = declaration.arithmetic;
  const bool chip = arithmetic.accumulation.kind == Accumulation::Kind::kTensorCore;
  if (c.hardware && chip && !declaration.any_accumulation) {
    arithmetic.accumulation = *parse_accumulation(*c.hardware);
  }
  return arithmetic;
}

bool Declaration::takes(Op op) const { return std::find(ops.begin(), ops.end(), op) != ops.end(); }
bool Declaration::takes(WeightFormat format) const {
  return std::find(weights.begin(), weights.end(), format) != weights.end();
}

std::optional<std::string> Declaration::refuses(const Case& c) const {
  if (!takes(c.op)) return refusal("op", name_of(c.op), names_of(ops));
  // Rows to be combined have no weights, whatever they were made of.
  if (c.op != Op::kCombine && !takes(c.weights)) {
    return refusal("weights", name_of(c.weights), names_of(weights));
  }
  if (c.op != Op::kCombine && !takes_layout(*this, c)) {
    const std::string accepted = layouts.empty() ? "that of case files" : joined(layouts);
    return refusal("layout", c.layout.value_or("that of case files"), accepted);
  }
  if (!contains(dtypes, c.dtype)) return refusal("dtype", c.dtype, dtypes);
  if (!is_row_op(c.op)) {
    if (!contains(mixture_dtypes, c.mixture_dtype()))
      return refusal("mixture", c.mixture_dtype(), mixture_dtypes);
    const std::vector<Dtype> shared = shared_dtypes.empty() ? std::vector<Dtype>{c.dtype} : shared_dtypes;
    if (!contains(shared, c.shared_dtype())) return refusal("shared", c.shared_dtype(), shared);
    if (!contains(ids_dtypes, c.ids_dtype)) return refusal("ids_dtype", c.ids_dtype, ids_dtypes);
  }

  const auto multiple = [](std::string_view key, std::int64_t value,
                           std::int64_t of) -> std::optional<std::string> {
    if (value % of == 0) return {};
    return refusal(key, std::to_string(value), "multiples of " + std::to_string(of));
  };
  const auto at_most = [](std::string_view key, std::int64_t value,
                          std::int64_t max) -> std::optional<std::string> {
    if (value <= max) return {};
    return refusal(key, std::to_string(value), "at most " + std::to_string(max));
  };
  for (const std::optional<std::string>& reason :
       {multiple("in", c.in, in_multiple), multiple("out", c.out, out_multiple), at_most("in", c.in, in_max),
        at_most("out", c.out, out_max), at_most("tokens", c.tokens, tokens_max),
        at_most("experts", c.experts, experts_max), at_most("top_k", c.top_k, top_k_max),
        multiple("max_m", c.max_m.value_or(0), max_m_multiple),
        at_most("capacity", c.capacity.value_or(0), capacity_max)}) {
    if (reason) return reason;
  }

  const bool blocks = c.op == Op::kIndexed || c.op == Op::kGroupedContiguous;
  if (blocks && !block_m.empty() &&
      std::find(block_m.begin(), block_m.end(), c.block_rows()) == block_m.end()) {
    std::string accepted;
    for (const std::int64_t rows : block_m) accepted += (accepted.empty() ? "" : ", ") + std::to_string(rows);
    return refusal("block_m", std::to_string(c.block_rows()), accepted);
  }
  if (c.hardware) {
    if (std::optional<std::string> reason = refuses_hardware(*this, c)) return reason;
  }
  if (!any_policy) {
    Policy followed = policy;
    followed.zero = c.policy.zero;
    if (!(followed == c.policy)) {
      const std::string own = to_string(policy);
      return refusal("policy", to_string(c.policy), own.empty() ? "the norm's" : own);
    }
  }
  return {};
}

}  // namespace moe4::oracle
