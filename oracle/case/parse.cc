#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "oracle/case/case.h"
#include "oracle/case/index_list.h"
#include "oracle/case/nearest.h"
#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

using Setter = std::function<Status(Case&, std::string_view key, std::string_view value)>;

Error unknown_word(std::string_view key, std::string_view value, const std::vector<std::string>& known) {
  return {std::string(key), std::string(value),
          fmt::format("CASE-2: no such value; did you mean {}? known: {}", nearest_name(value, known),
                      fmt::join(known, " "))};
}

Setter fixed_word(std::string Case::*member, std::string known) {
  return [=](Case& c, std::string_view key, std::string_view value) -> Status {
    if (value != known) return unknown_word(key, value, {known});
    c.*member = value;
    return {};
  };
}

Setter whole_number(std::int64_t Case::*member) {
  return [=](Case& c, std::string_view key, std::string_view value) -> Status {
    const auto number = parse_whole_number(value);
    if (!number) {
      return Error{std::string(key), std::string(value),
                   "CASE-3: a whole number in decimal digits, 0 or more"};
    }
    c.*member = *number;
    return {};
  };
}

Setter index_list(std::vector<std::int64_t> Case::*member) {
  return [=](Case& c, std::string_view key, std::string_view value) -> Status {
    auto list = parse_index_list(key, value);
    if (!list) return list.error();
    c.*member = std::move(*list);
    return {};
  };
}

// Member is Dtype Case::* or std::optional<Dtype> Case::*.
template <class Member>
Setter dtype(Member member, std::vector<std::string> known) {
  return [=](Case& c, std::string_view key, std::string_view value) -> Status {
    if (std::find(known.begin(), known.end(), value) == known.end()) return unknown_word(key, value, known);
    c.*member = *dtype_from_word(value);
    return {};
  };
}

// Member is std::uint64_t Case::* or std::optional<std::uint64_t> Case::*.
template <class Member>
Setter seed(Member member) {
  return [=](Case& c, std::string_view key, std::string_view value) -> Status {
    const bool hex = value.substr(0, 2) == "0x";
    const std::string_view digits = hex ? value.substr(2) : value;
    std::uint64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number, hex ? 16 : 10);
    if (error != std::errc() || stop != end) {
      return Error{std::string(key), std::string(value),
                   "CASE-3: a seed is 0x and hex digits, or decimal digits, below 2^64"};
    }
    c.*member = number;
    return {};
  };
}

Status set_fill(Case& c, std::string_view key, std::string_view value) {
  const auto fill = fill_from_name(value);
  if (!fill) return unknown_word(key, value, fill_words());
  c.fill = *fill;
  return {};
}

Status set_routing(Case& c, std::string_view key, std::string_view value) {
  const auto routing = routing_from_name(value);
  if (!routing) return unknown_word(key, value, routing_words());
  c.routing = *routing;
  return {};
}

Status set_scales(Case& c, std::string_view key, std::string_view value) {
  const Error malformed{std::string(key), std::string(value),
                        "CASE-9: written window(lo,hi) with 0 <= lo <= hi <= 255"};
  constexpr std::string_view kOpen = "window(";
  if (value.substr(0, kOpen.size()) != kOpen || value.back() != ')') return malformed;
  const std::string_view inside = value.substr(kOpen.size(), value.size() - kOpen.size() - 1);
  const std::size_t comma = inside.find(',');
  if (comma == std::string_view::npos) return malformed;
  const auto lo = parse_whole_number(inside.substr(0, comma));
  const auto hi = parse_whole_number(inside.substr(comma + 1));
  if (!lo || !hi || *lo > *hi || *hi > 255) return malformed;
  c.scales = ScaleWindow{static_cast<std::uint8_t>(*lo), static_cast<std::uint8_t>(*hi)};
  return {};
}

Status set_one_policy(Case& c, std::string_view key, std::string_view value) {
  return set_policy(c.policy, fmt::format("{}={}", key, value));
}

struct Key {
  std::string name;
  Setter set;
};

// CASE-2.
const std::vector<Key>& keys() {
  static const std::vector<Key> table = [] {
    std::vector<Key> list = {
        {"op", fixed_word(&Case::op, "expert_linear")},
        {"weights", fixed_word(&Case::weights, "mxfp4")},
        {"tokens", whole_number(&Case::tokens)},
        {"experts", whole_number(&Case::experts)},
        {"top_k", whole_number(&Case::top_k)},
        {"in", whole_number(&Case::in)},
        {"out", whole_number(&Case::out)},
        {"dtype", dtype(&Case::dtype, float_words())},
        {"mixture", dtype(&Case::mixture, float_words())},
        {"shared", dtype(&Case::shared, float_words())},
        {"ids_dtype", dtype(&Case::ids_dtype, id_words())},
        {"fill", set_fill},
        {"routing", set_routing},
        {"scales", set_scales},
        {"route", index_list(&Case::route)},
        {"seed", seed(&Case::seed)},
        {"schedule", seed(&Case::schedule)},
        {"keep_tokens", index_list(&Case::keep_tokens)},
        {"keep_outputs", index_list(&Case::keep_outputs)},
        {"keep_groups", index_list(&Case::keep_groups)},
        {"keep_codes", index_list(&Case::keep_codes)},
    };
    for (const PolicyInfo& policy : policies()) list.push_back({std::string(policy.name), set_one_policy});
    return list;
  }();
  return table;
}

Status set_pair(Case& c, std::string_view pair, std::vector<std::string>& seen) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == pair.size()) {
    return Error{"case", std::string(pair), "CASE-1: a case line is blank-separated key=value pairs"};
  }
  const std::string_view name = pair.substr(0, equals);
  const std::string_view value = pair.substr(equals + 1);
  for (const Key& key : keys()) {
    if (key.name != name) continue;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return Error{std::string(name), std::string(value), "CASE-1: a key stands at most once"};
    }
    seen.emplace_back(name);
    return key.set(c, name, value);
  }
  const std::vector<std::string> known = case_keys();
  return Error{std::string(name), std::string(value),
               fmt::format("CASE-2: no such key; did you mean {}? known: {}", nearest_name(name, known),
                           fmt::join(known, " "))};
}

}  // namespace

Result<Case> parse_case(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  Case c;
  std::vector<std::string> seen;
  std::string_view rest = line;
  while (true) {
    const std::size_t begin = rest.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const std::size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    if (Status status = set_pair(c, rest.substr(0, end), seen)) return *status;
    rest.remove_prefix(end);
  }
  if (seen.empty())
    return Error{"case", std::string(line), "CASE-1: a case line has at least one key=value pair"};
  if (Status status = validate_case(c)) return *status;
  return c;
}

// CASE-12.
Result<std::vector<Case>> parse_case_list(std::string_view text) {
  std::vector<Case> cases;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<Case> c = parse_case(line);
    if (!c) {
      return Error{fmt::format("line {}: {}", number, c.error().field), c.error().value, c.error().rule};
    }
    cases.push_back(std::move(*c));
  }
  return cases;
}

}  // namespace moe4::oracle
