#include "reference/policy.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

namespace moe4 {
namespace {

// One row of docs/spec/corners.md. The values stand in the order of the policy's enum, the default first.
struct PolicyRow {
  PolicyInfo info;
  std::size_t (*get)(const Policy&);
  void (*set)(Policy&, std::size_t);
};

template <auto Policy::*kMember>
constexpr PolicyRow row(std::string_view name, std::string_view default_value, std::string_view values,
                        std::string_view meaning) {
  return {{name, default_value, values, meaning},
          [](const Policy& policy) { return static_cast<std::size_t>(policy.*kMember); },
          [](Policy& policy, std::size_t index) {
            policy.*kMember = static_cast<std::remove_reference_t<decltype(policy.*kMember)>>(index);
          }};
}

const std::array<PolicyRow, 5> kPolicies = {
    row<&Policy::scale_nan>("scale_nan", "ocp", "ocp formula inf",
                            "COR-1: scale byte 255 is NaN, or 2^128, or +Inf"),
    row<&Policy::scale_zero>("scale_zero", "exact", "exact flush", "COR-2: scale byte 0 is 2^-127, or zero"),
    row<&Policy::zero>("zero", "any", "any strict",
                       "COR-3: comparison takes +0 and -0 as equal, or as different"),
    row<&Policy::ids>("ids", "error", "error absent", "COR-5: expert id -1 is refused, or is an absent slot"),
    row<&Policy::skip_zero_p>("skip_zero_p", "no", "no yes",
                              "COR-6: a mixture weight of zero is a factor, or makes its slot absent"),
};

// The blank-separated words of text.
std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string known_names() {
  std::string names;
  for (const PolicyRow& policy : kPolicies)
    names += (names.empty() ? "" : " ") + std::string(policy.info.name);
  return names;
}

}  // namespace

Status set_policy(Policy& policy, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return Error{"policy", std::string(assignment),
                 "COR: a policy is name=value, with a name of: " + known_names()};
  }
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view value = assignment.substr(equals + 1);
  for (const PolicyRow& candidate : kPolicies) {
    if (candidate.info.name != name) continue;
    const std::vector<std::string_view> values = words_of(candidate.info.values);
    for (std::size_t index = 0; index < values.size(); ++index) {
      if (values[index] != value) continue;
      candidate.set(policy, index);
      return {};
    }
    return Error{std::string(name), std::string(value),
                 "COR: the value is one of: " + std::string(candidate.info.values)};
  }
  return Error{"policy", std::string(name), "COR: the name is one of: " + known_names()};
}

std::string to_string(const Policy& policy) {
  std::string text;
  for (const PolicyRow& row : kPolicies) {
    const std::size_t index = row.get(policy);
    if (index == row.get(Policy{})) continue;
    if (!text.empty()) text += " ";
    text += std::string(row.info.name) + "=" + std::string(words_of(row.info.values)[index]);
  }
  return text;
}

Result<Policy> parse_policy(std::string_view text) {
  Policy policy;
  for (const std::string_view word : words_of(text)) {
    if (Status error = set_policy(policy, word)) return *error;
  }
  return policy;
}

std::vector<PolicyInfo> policies() {
  std::vector<PolicyInfo> infos;
  for (const PolicyRow& row : kPolicies) infos.push_back(row.info);
  return infos;
}

}  // namespace moe4
