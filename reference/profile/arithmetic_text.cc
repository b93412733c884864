#include <array>
#include <functional>
#include <set>
#include <span>

#include "reference/profile/arithmetic.h"

namespace moe4 {
namespace {

constexpr std::array<std::string_view, 5> kProfiles = {"once", "late", "late_bf16_sum", "hf", "early"};

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
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

// The index of value among two words.
Status assign(bool& to, std::string_view key, std::string_view value, std::string_view if_false,
              std::string_view if_true) {
  if (value != if_false && value != if_true) {
    return refuse(key, value, "the values are " + std::string(if_false) + ", " + std::string(if_true));
  }
  to = value == if_true;
  return {};
}

// A row of the table of PRO-19.
struct Key {
  std::string_view name;
  std::function<Status(Arithmetic&, std::string_view)> set;
  std::function<std::string(const Arithmetic&)> get;
};

const std::array<Key, 7>& keys() {
  using View = std::string_view;
  static const std::array<Key, 7> kKeys = {{
      {"profile", [](Arithmetic& a, View v) { return assign(a.profile, parse_rounding_profile(v)); },
       [](const Arithmetic& a) { return std::string(name_of(a.profile)); }},
      {"order", [](Arithmetic& a, View v) { return assign(a.order, parse_order(v)); },
       [](const Arithmetic& a) { return to_string(a.order); }},
      {"accumulation", [](Arithmetic& a, View v) { return assign(a.accumulation, parse_accumulation(v)); },
       [](const Arithmetic& a) { return std::string(name_of(a.accumulation)); }},
      {"products",
       [](Arithmetic& a, View v) { return assign(a.product_rounded, "products", v, "fma", "rounded"); },
       [](const Arithmetic& a) { return std::string(a.product_rounded ? "rounded" : "fma"); }},
      {"ftz", [](Arithmetic& a, View v) { return assign(a.ftz, "ftz", v, "no", "yes"); },
       [](const Arithmetic& a) { return std::string(a.ftz ? "yes" : "no"); }},
      {"weight",
       [](Arithmetic& a, View v) {
         bool bf16 = false;
         Status error = assign(bf16, "weight", v, "exact", "bf16");
         if (!error) a.weight = bf16 ? WeightOperand::kBf16 : WeightOperand::kExact;
         return error;
       },
       [](const Arithmetic& a) { return std::string(a.weight == WeightOperand::kBf16 ? "bf16" : "exact"); }},
      {"dequant", [](Arithmetic& a, View v) { return assign(a.dequant, parse_int4_order(v)); },
       [](const Arithmetic& a) { return std::string(name_of(a.dequant)); }},
  }};
  return kKeys;
}

}  // namespace

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
  const std::string_view name = word.substr(0, equals);
  for (const Key& key : keys()) {
    if (key.name != name || equals == std::string_view::npos) continue;
    return key.set(arithmetic, word.substr(equals + 1));
  }
  std::array<std::string_view, 7> names;
  for (std::size_t k = 0; k < names.size(); ++k) names[k] = keys()[k].name;
  return refuse("arithmetic", word, "a word is key=value; the keys are " + listed(names));
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
