#include "oracle/case/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "oracle/case/index_list.h"
#include "oracle/case/nearest.h"
#include "oracle/case/words.h"

namespace moe4::oracle {
namespace {

using Setter = decltype(CaseKey::set);

Error unknown_word(std::string_view key, std::string_view value, const std::vector<std::string>& known) {
  return {std::string(key), std::string(value),
          fmt::format("CASE-2: no such value; did you mean {}? known: {}", nearest_name(value, known),
                      fmt::join(known, " "))};
}

// Member is std::int64_t Case::* or std::optional<std::int64_t> Case::*.
template <class Member>
Setter whole_number(Member member) {
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

// A word for which `from_name` has a value.
template <class Value, class FromName>
Setter word(Value Case::*member, FromName from_name, std::vector<std::string> known) {
  return [=](Case& c, std::string_view key, std::string_view value) -> Status {
    const auto found = from_name(value);
    if (!found) return unknown_word(key, value, known);
    c.*member = *found;
    return {};
  };
}

Status set_layout(Case& c, std::string_view key, std::string_view value) {
  if (find_weight_layout(value) == nullptr) return unknown_word(key, value, layout_words());
  c.layout = value;
  return {};
}

// CASE-19.
Status set_hardware(Case& c, std::string_view key, std::string_view value) {
  const std::vector<std::string> known = hardware_words();
  if (std::find(known.begin(), known.end(), value) == known.end()) return unknown_word(key, value, known);
  c.hardware = value;
  return {};
}

// "NAME(a,b)"; nullopt if it is not.
std::optional<std::pair<std::int64_t, std::int64_t>> two_numbers(std::string_view value,
                                                                 std::string_view open) {
  if (value.substr(0, open.size()) != open || value.back() != ')') return std::nullopt;
  const std::string_view inside = value.substr(open.size(), value.size() - open.size() - 1);
  const std::size_t comma = inside.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto first = parse_whole_number(inside.substr(0, comma));
  const auto second = parse_whole_number(inside.substr(comma + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

Status set_scales(Case& c, std::string_view key, std::string_view value) {
  const auto window = two_numbers(value, "window(");
  if (!window || window->first > window->second || window->second > 255) {
    return Error{std::string(key), std::string(value),
                 "CASE-9: written window(lo,hi) with 0 <= lo <= hi <= 255"};
  }
  c.scales = ScaleWindow{static_cast<std::uint8_t>(window->first), static_cast<std::uint8_t>(window->second)};
  return {};
}

Status set_ep(Case& c, std::string_view key, std::string_view value) {
  const auto rank = two_numbers(value, "rank(");
  if (!rank) return Error{std::string(key), std::string(value), "CASE-17: written rank(r,n)"};
  c.ep = ExpertRank{rank->first, rank->second};
  return {};
}

Status set_one_policy(Case& c, std::string_view key, std::string_view value) {
  return set_policy(c.policy, fmt::format("{}={}", key, value));
}

}  // namespace

// CASE-2.
const std::vector<CaseKey>& case_key_table() {
  static const std::vector<CaseKey> table = [] {
    std::vector<CaseKey> list = {
        {"op", word(&Case::op, op_from_name, op_words())},
        {"weights", word(&Case::weights, weight_format_from_name, weight_words())},
        {"tokens", whole_number(&Case::tokens)},
        {"experts", whole_number(&Case::experts)},
        {"top_k", whole_number(&Case::top_k)},
        {"in", whole_number(&Case::in)},
        {"out", whole_number(&Case::out)},
        {"dtype", dtype(&Case::dtype, float_words())},
        {"mixture", dtype(&Case::mixture, float_words())},
        {"shared", dtype(&Case::shared, float_words())},
        {"ids_dtype", dtype(&Case::ids_dtype, id_words())},
        {"layout", set_layout},
        {"block_m", whole_number(&Case::block_m)},
        {"max_m", whole_number(&Case::max_m)},
        {"expected_m", whole_number(&Case::expected_m)},
        {"capacity", whole_number(&Case::capacity)},
        {"ep", set_ep},
        {"fill", word(&Case::fill, fill_from_name, fill_words())},
        {"routing", word(&Case::routing, routing_from_name, routing_words())},
        {"scales", set_scales},
        {"route", index_list(&Case::route)},
        {"seed", seed(&Case::seed)},
        {"hardware", set_hardware},
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

}  // namespace moe4::oracle
