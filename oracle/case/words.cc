#include "oracle/case/words.h"

#include <array>
#include <cctype>

#include "reference/accumulate/accumulation.h"

namespace moe4::oracle {
namespace {

template <class T>
struct Word {
  T value;
  std::string_view name;
};

constexpr std::array kFills = {
    Word<Fill>{Fill::kExact8, "exact8"},
    Word<Fill>{Fill::kExact24, "exact24"},
    Word<Fill>{Fill::kBits, "bits"},
    Word<Fill>{Fill::kReal, "real"},
    Word<Fill>{Fill::kOnehot, "onehot"},
    Word<Fill>{Fill::kPositive, "positive"},
    Word<Fill>{Fill::kNonfinite, "nonfinite"},
    Word<Fill>{Fill::kCancel, "cancel"},
    Word<Fill>{Fill::kSlabCancel, "slab_cancel"},
    Word<Fill>{Fill::kTies, "ties"},
    Word<Fill>{Fill::kSubnormal, "subnormal"},
    Word<Fill>{Fill::kTallPairs, "tall_pairs"},
};

constexpr std::array kRoutings = {
    Word<Routing>{Routing::kUniform, "uniform"},
    Word<Routing>{Routing::kHot, "hot"},
    Word<Routing>{Routing::kOne, "one"},
    Word<Routing>{Routing::kEmpty, "empty"},
    Word<Routing>{Routing::kDuplicate, "duplicate"},
    Word<Routing>{Routing::kBoundary, "boundary"},
    Word<Routing>{Routing::kPoison, "poison"},
    Word<Routing>{Routing::kSentinel, "sentinel"},
    Word<Routing>{Routing::kMinusOne, "minus_one"},
    Word<Routing>{Routing::kUnsorted, "unsorted"},
};

constexpr std::array kOps = {
    Word<Op>{Op::kExpertLinear, "expert_linear"},
    Word<Op>{Op::kIndexed, "indexed"},
    Word<Op>{Op::kGroupedContiguous, "grouped_contiguous"},
    Word<Op>{Op::kGroupedMasked, "grouped_masked"},
    Word<Op>{Op::kCombine, "combine"},
};

template <class Table, class T>
std::string_view name_in(const Table& table, T value) {
  for (const auto& word : table) {
    if (word.value == value) return word.name;
  }
  return "?";
}

template <class Table>
auto value_in(const Table& table, std::string_view name) -> std::optional<decltype(table[0].value)> {
  for (const auto& word : table) {
    if (word.name == name) return word.value;
  }
  return std::nullopt;
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& word : table) names.emplace_back(word.name);
  return names;
}

template <class Table>
auto values_of(const Table& table) {
  std::vector<std::decay_t<decltype(table[0].value)>> values;
  for (const auto& word : table) values.push_back(word.value);
  return values;
}

}  // namespace

std::string_view name_of(Op op) { return name_in(kOps, op); }
std::vector<Op> all_ops() { return values_of(kOps); }
std::string_view name_of(Fill fill) { return name_in(kFills, fill); }
std::string_view name_of(Routing routing) { return name_in(kRoutings, routing); }
std::vector<Fill> all_fills() { return values_of(kFills); }
std::vector<Routing> all_routings() { return values_of(kRoutings); }

std::optional<Op> op_from_name(std::string_view name) {
  const auto value = value_in(kOps, name);
  return value ? std::optional<Op>(*value) : std::nullopt;
}

std::optional<Fill> fill_from_name(std::string_view name) {
  const auto value = value_in(kFills, name);
  return value ? std::optional<Fill>(*value) : std::nullopt;
}

std::optional<Routing> routing_from_name(std::string_view name) {
  const auto value = value_in(kRoutings, name);
  return value ? std::optional<Routing>(*value) : std::nullopt;
}

std::string dtype_word(Dtype dtype) {
  std::string word(name_of(dtype));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

std::optional<Dtype> dtype_from_word(std::string_view word) {
  const std::optional<Dtype> dtype = dtype_from_name(word);
  if (!dtype || dtype_word(*dtype) != word) return std::nullopt;
  return dtype;
}

std::vector<std::string> fill_words() { return names_of(kFills); }
std::vector<std::string> routing_words() { return names_of(kRoutings); }
std::vector<std::string> op_words() { return names_of(kOps); }
std::vector<std::string> weight_words() { return {"mxfp4", "int4"}; }
std::vector<std::string> layout_words() {
  std::vector<std::string> names;
  for (const WeightLayout* layout : weight_layouts()) names.emplace_back(layout->name);
  return names;
}
std::vector<std::string> float_words() { return {"bf16", "f16", "f32", "f64"}; }
std::vector<std::string> id_words() { return {"i32", "i64"}; }
std::vector<std::string> hardware_words() {
  std::vector<std::string> names;
  for (const TensorCore& unit : tensor_cores()) names.emplace_back(unit.name);
  return names;
}

std::vector<std::string> case_keys() {
  std::vector<std::string> keys = {"op",      "weights", "tokens",     "experts",  "top_k",     "in",
                                   "out",     "dtype",   "mixture",    "shared",   "ids_dtype", "layout",
                                   "block_m", "max_m",   "expected_m", "capacity", "ep",        "fill",
                                   "routing", "scales",  "route"};
  for (const PolicyInfo& policy : policies()) keys.emplace_back(policy.name);
  for (const char* key :
       {"seed", "hardware", "schedule", "keep_tokens", "keep_outputs", "keep_groups", "keep_codes"}) {
    keys.emplace_back(key);
  }
  return keys;
}

}  // namespace moe4::oracle
