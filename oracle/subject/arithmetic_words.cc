#include "oracle/subject/arithmetic_words.h"

#include <algorithm>
#include <vector>

#include "oracle/case/nearest.h"

namespace moe4::oracle {

Status set_arithmetic(Arithmetic& arithmetic, std::string_view key, std::string_view value) {
  const std::vector<std::string_view> keys = arithmetic_keys();
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
    return Error{std::string(key), std::string(value),
                 "PRO-19: no such key; did you mean " + nearest_name(key, {keys.begin(), keys.end()}) + "?"};
  }
  const std::vector<std::string> words = arithmetic_values(key);
  if (!words.empty() && std::find(words.begin(), words.end(), value) == words.end()) {
    std::string known;
    for (const std::string& word : words) known += " " + word;
    return Error{std::string(key), std::string(value),
                 "PRO-19: no such value; did you mean " + nearest_name(value, words) + "? known:" + known};
  }
  return set_word(arithmetic, std::string(key) + "=" + std::string(value));
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
