#include "oracle/case/index_list.h"

#include <algorithm>
#include <charconv>

namespace moe4::oracle {

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 10);
  if (error != std::errc() || stop != end || value < 0 || text.front() == '-') return std::nullopt;
  if (value > (std::int64_t{1} << 62)) return std::nullopt;
  return value;
}

Result<std::vector<std::int64_t>> parse_index_list(std::string_view key, std::string_view text) {
  const Error malformed{std::string(key), std::string(text),
                        "CASE-4: a list is whole numbers and ranges joined by +, such as 0-3+7"};
  std::vector<std::int64_t> list;
  std::string_view rest = text;
  while (true) {
    const std::size_t plus = std::min(rest.find('+'), rest.size());
    const std::string_view item = rest.substr(0, plus);
    const std::size_t dash = item.find('-');
    const auto first = parse_whole_number(item.substr(0, std::min(dash, item.size())));
    const auto last = dash == std::string_view::npos ? first : parse_whole_number(item.substr(dash + 1));
    if (!first || !last || *last < *first) return malformed;
    if (*last - *first >= kMaxListLength - static_cast<std::int64_t>(list.size())) {
      return Error{std::string(key), std::string(text), "CASE-4: a list has at most 2^20 indices"};
    }
    for (std::int64_t index = *first; index <= *last; ++index) list.push_back(index);
    if (plus == rest.size()) break;
    rest.remove_prefix(plus + 1);
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

std::string to_string_index_list(const std::vector<std::int64_t>& list) {
  std::string text;
  for (std::size_t begin = 0; begin < list.size();) {
    std::size_t end = begin + 1;
    while (end < list.size() && list[end] == list[end - 1] + 1) ++end;
    if (!text.empty()) text += "+";
    text += std::to_string(list[begin]);
    if (end - begin > 1) text += "-" + std::to_string(list[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace moe4::oracle
