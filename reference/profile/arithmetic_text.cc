#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "reference/profile/arithmetic.h"

namespace moe4 {
namespace {

constexpr std::array<std::string_view, 5> kProfiles = {"once", "late", "late_bf16_sum", "hf", "early"};

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

Error refuse(std::string_view field, std::string_view value, std::string rule) {
  return {std::string(field), std::string(value), "PRO-19: " + std::move(rule)};
}

template <class Value>
Status assign(Value& to, const Result<Value>& from) {
  if (!from.ok()) return from.error();
  to = from.value();
  return {};
}

Status assign(bool& to, std::string_view value, std::string_view if_true) {
  to = value == if_true;
  return {};
}

std::vector<std::string> accumulations() {
  std::vector<std::string> words = {"exact", "f32_sequential"};
  for (const TensorCore& unit : tensor_cores()) words.emplace_back(unit.name);
  return words;
}

std::vector<std::string> dequants() {
  std::vector<std::string> words;
  for (const Int4OrderInfo& info : int4_orders()) words.emplace_back(info.name);
  return words;
}

// A row of the table of PRO-19.
struct Key {
  std::string_view name;
  std::vector<std::string> values;  // empty: not a few words, and `set` judges them
  std::function<Status(Arithmetic&, std::string_view)> set;
  std::function<std::string(const Arithmetic&)> get;
};

const std::array<Key, 7>& keys() {
  using View = std::string_view;
  static const std::array<Key, 7> kKeys = {{
      {"profile",
       {kProfiles.begin(), kProfiles.end()},
       [](Arithmetic& a, View v) { return assign(a.profile, parse_rounding_profile(v)); },
       [](const Arithmetic& a) { return std::string(name_of(a.profile)); }},
      {"order",
       {},
       [](Arithmetic& a, View v) { return assign(a.order, parse_order(v)); },
       [](const Arithmetic& a) { return to_string(a.order); }},
      {"accumulation", accumulations(),
       [](Arithmetic& a, View v) { return assign(a.accumulation, parse_accumulation(v)); },
       [](const Arithmetic& a) { return std::string(name_of(a.accumulation)); }},
      {"products",
       {"fma", "rounded"},
       [](Arithmetic& a, View v) { return assign(a.product_rounded, v, "rounded"); },
       [](const Arithmetic& a) { return std::string(a.product_rounded ? "rounded" : "fma"); }},
      {"ftz",
       {"no", "yes"},
       [](Arithmetic& a, View v) { return assign(a.ftz, v, "yes"); },
       [](const Arithmetic& a) { return std::string(a.ftz ? "yes" : "no"); }},
      {"weight",
       {"exact", "bf16"},
       [](Arithmetic& a, View v) -> Status {
         a.weight = v == "bf16" ? WeightOperand::kBf16 : WeightOperand::kExact;
         return {};
       },
       [](const Arithmetic& a) { return std::string(a.weight == WeightOperand::kBf16 ? "bf16" : "exact"); }},
      {"dequant", dequants(), [](Arithmetic& a, View v) { return assign(a.dequant, parse_int4_order(v)); },
       [](const Arithmetic& a) { return std::string(name_of(a.dequant)); }},
  }};
  return kKeys;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string_view> arithmetic_keys() {
  std::vector<std::string_view> names;
  for (const Key& key : keys()) names.push_back(key.name);
  return names;
}

std::vector<std::string> arithmetic_values(std::string_view key) {
  const Key* found = find_key(key);
  return found == nullptr ? std::vector<std::string>{} : found->values;
}

std::string arithmetic_value(const Arithmetic& arithmetic, std::string_view key) {
  const Key* found = find_key(key);
  return found == nullptr ? std::string() : found->get(arithmetic);
}

std::string_view name_of(RoundingProfile profile) { return kProfiles[static_cast<std::size_t>(profile)]; }

Result<RoundingProfile> parse_rounding_profile(std::string_view name) {
  for (std::size_t k = 0; k < kProfiles.size(); ++k) {
    if (kProfiles[k] == name) return static_cast<RoundingProfile>(k);
  }
  return refuse("profile", name, "the profiles are " + listed(kProfiles));
}

std::string to_string(const Arithmetic& arithmetic) {
  const Arithmetic usual;
  std::string text;
  for (const Key& key : keys()) {
    const std::string value = key.get(arithmetic);
    if (value == key.get(usual)) continue;
    if (!text.empty()) text += " ";
    text += std::string(key.name) + "=" + value;
  }
  return text;
}

Status set_word(Arithmetic& arithmetic, std::string_view word) {
  const std::size_t equals = word.find('=');
  const Key* key = find_key(word.substr(0, equals));
  if (key == nullptr || equals == std::string_view::npos) {
    return refuse("arithmetic", word, "a word is key=value; the keys are " + listed(arithmetic_keys()));
  }
  const std::string_view value = word.substr(equals + 1);
  const auto known = std::find(key->values.begin(), key->values.end(), value);
  if (!key->values.empty() && known == key->values.end()) {
    return refuse(key->name, value, "the values are " + listed(key->values));
  }
  return key->set(arithmetic, value);
}

Result<Arithmetic> parse_arithmetic(std::string_view text) {
  Arithmetic arithmetic;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    const bool more = blank != std::string_view::npos;
    text.remove_prefix(more ? blank + 1 : text.size());
    if (more && text.empty()) return refuse("arithmetic", word, "no blank at the end");
    if (Status error = set_word(arithmetic, word)) return *error;
    if (!seen.insert(word.substr(0, word.find('='))).second) {
      return refuse("arithmetic", word, "no key is given twice");
    }
  }
  return arithmetic;
}

}  // namespace moe4
