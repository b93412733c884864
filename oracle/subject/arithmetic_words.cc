#include "oracle/subject/arithmetic_words.h"

#include <algorithm>

#include "oracle/case/nearest.h"

namespace moe4::oracle {
namespace {

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

// One key of PRO-19.
struct Setting {
  std::string_view key;
  std::vector<std::string> values;  // empty: not a few words
  std::string (*get)(const Arithmetic&);
};

const std::vector<Setting>& settings() {
  static const std::vector<Setting> table = {
      {"profile",
       {"once", "late", "late_bf16_sum", "hf", "early"},
       [](const Arithmetic& a) { return std::string(name_of(a.profile)); }},
      {"order", {}, [](const Arithmetic& a) { return to_string(a.order); }},
      {"accumulation", accumulations(),
       [](const Arithmetic& a) { return std::string(name_of(a.accumulation)); }},
      {"products",
       {"fma", "rounded"},
       [](const Arithmetic& a) { return std::string(a.product_rounded ? "rounded" : "fma"); }},
      {"ftz", {"no", "yes"}, [](const Arithmetic& a) { return std::string(a.ftz ? "yes" : "no"); }},
      {"weight",
       {"exact", "bf16"},
       [](const Arithmetic& a) { return std::string(a.weight == WeightOperand::kBf16 ? "bf16" : "exact"); }},
      {"dequant", dequants(), [](const Arithmetic& a) { return std::string(name_of(a.dequant)); }},
  };
  return table;
}

const Setting* find(std::string_view key) {
  for (const Setting& setting : settings()) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> arithmetic_keys() {
  std::vector<std::string> keys;
  for (const Setting& setting : settings()) keys.emplace_back(setting.key);
  return keys;
}

std::vector<std::string> arithmetic_values(std::string_view key) {
  const Setting* setting = find(key);
  return setting == nullptr ? std::vector<std::string>{} : setting->values;
}

Status set_arithmetic(Arithmetic& arithmetic, std::string_view key, std::string_view value) {
  const Setting* setting = find(key);
  if (setting == nullptr) {
    return Error{std::string(key), std::string(value),
                 "PRO-19: no such key; did you mean " + nearest_name(key, arithmetic_keys()) + "?"};
  }
  const std::vector<std::string>& words = setting->values;
  if (!words.empty() && std::find(words.begin(), words.end(), value) == words.end()) {
    std::string known;
    for (const std::string& word : words) known += " " + word;
    return Error{std::string(key), std::string(value),
                 "PRO-19: no such value; did you mean " + nearest_name(value, words) + "? known:" + known};
  }
  return set_word(arithmetic, std::string(key) + "=" + std::string(value));
}

std::string arithmetic_value(const Arithmetic& arithmetic, std::string_view key) {
  const Setting* setting = find(key);
  return setting == nullptr ? std::string() : setting->get(arithmetic);
}

std::string arithmetic_words(const Arithmetic& arithmetic) {
  const Arithmetic usual;
  std::string text = arithmetic_value(arithmetic, "profile") + ", " + arithmetic_value(arithmetic, "order") +
                     ", products=" + arithmetic_value(arithmetic, "products");
  for (const std::string_view key : {"accumulation", "weight", "dequant"}) {
    const std::string value = arithmetic_value(arithmetic, key);
    if (value != arithmetic_value(usual, key)) text += ", " + std::string(key) + "=" + value;
  }
  return text + (arithmetic.ftz ? ", ftz" : "");
}

}  // namespace moe4::oracle
