#include "oracle/judge/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reference/routing/slots.h"

namespace moe4::oracle {
namespace {

// ", all with o % 32 == 31": the coarsest power of two by which several of them agree.
std::string remainder(const std::vector<std::int64_t>& values, std::int64_t size, char letter) {
  if (values.size() < 2) return "";
  for (std::int64_t m = 128; m >= 2; m /= 2) {
    if (2 * m > size) continue;
    const std::int64_t r = values.front() % m;
    if (std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v % m == r; })) {
      return fmt::format(", all with {} % {} == {}", letter, m, r);
    }
  }
  return "";
}

std::string axis(const char* name, char letter, const std::set<std::int64_t>& hit, std::int64_t size) {
  const std::vector<std::int64_t> values(hit.begin(), hit.end());
  if (static_cast<std::int64_t>(values.size()) == size) return fmt::format("{}: all {}", name, size);
  return fmt::format("{}: {} of {}: {}{}", name, values.size(), size, ranges(values),
                     remainder(values, size, letter));
}

// The experts that every wrong token selects, unless that says nothing: a right token selects them all too,
// or one token is wrong.
std::vector<std::string> experts(const CaseData& data, const std::set<std::int64_t>& tokens) {
  std::map<std::int64_t, std::set<std::int64_t>> users;
  for (std::int64_t t = 0; t < data.latent_tokens.dim(0); ++t) {
    for (const Slot& slot :
         contributing_slots(data.selected_experts.view(), data.mixture_weights.view(), t, data.policy)) {
      users[slot.expert].insert(t);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [expert, selecting] : users) {
    if (!std::includes(selecting.begin(), selecting.end(), tokens.begin(), tokens.end())) continue;
    if (selecting.size() == tokens.size()) {
      lines.push_back(fmt::format("expert {}: the wrong tokens are those that select it", expert));
    } else if (tokens.size() > 1) {
      lines.push_back(fmt::format("expert {}: every wrong token selects it ({} of the {} that do)", expert,
                                  tokens.size(), selecting.size()));
    }
  }
  if (lines.size() > 3) lines.clear();
  return lines;
}

}  // namespace

std::string ranges(const std::vector<std::int64_t>& ascending, std::size_t most) {
  std::string text;
  std::size_t parts = 0;
  std::size_t k = 0;
  while (k < ascending.size() && parts < most) {
    std::size_t end = k + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (parts > 0) text += ", ";
    text += end - k == 1 ? fmt::format("{}", ascending[k])
                         : fmt::format("{}..{}", ascending[k], ascending[end - 1]);
    k = end;
    ++parts;
  }
  if (k < ascending.size()) text += fmt::format(" (and {} more)", ascending.size() - k);
  return text;
}

std::vector<std::string> describe_clusters(const CaseData& data, const std::vector<std::int64_t>& wrong) {
  const std::int64_t tokens = data.latent_tokens.dim(0);
  const std::int64_t out = data.packed_weights.dim(1);
  if (static_cast<std::int64_t>(wrong.size()) == tokens * out) return {"everywhere"};
  std::set<std::int64_t> token_hit;
  std::set<std::int64_t> output_hit;
  for (const std::int64_t index : wrong) {
    token_hit.insert(index / out);
    output_hit.insert(index % out);
  }
  std::vector<std::string> lines = {axis("tokens", 't', token_hit, tokens),
                                    axis("outputs", 'o', output_hit, out)};
  if (wrong.size() == token_hit.size() * output_hit.size() && wrong.size() > 1) {
    lines.push_back("every combination of these is wrong");
  }
  for (std::string& line : experts(data, token_hit)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace moe4::oracle
