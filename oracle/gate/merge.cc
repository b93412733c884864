#include "oracle/gate/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "oracle/gate/tiers.h"

namespace moe4::oracle {
namespace {

std::string rounds_text(const GateReport& report) {
  return report.rounds_seed ? "with rounds" : "without rounds";
}

std::string subjects_text(const GateReport& report) {
  std::string text;
  for (const Tally& tally : report.tallies) text += (text.empty() ? "" : ", ") + tally.subject;
  return text;
}

Status same_gate(const GateReport& a, const std::string& name_a, const GateReport& b,
                 const std::string& name_b) {
  const std::tuple<const char*, std::string, std::string> fields[] = {
      {"tier", a.tier, b.tier},
      {"seed", std::to_string(a.seed), std::to_string(b.seed)},
      {"shard.count", std::to_string(a.shard.count), std::to_string(b.shard.count)},
      {"list", a.list, b.list},
      {"rounds", rounds_text(a), rounds_text(b)},
      {"subjects", subjects_text(a), subjects_text(b)}};
  for (const auto& [field, of_a, of_b] : fields) {
    if (of_a != of_b) {
      return Error{name_b + ": " + field, of_b, "the shards of one gate: in " + name_a + " it is " + of_a};
    }
  }
  if (!(a.floors == b.floors)) return Error{name_b + ": floors", "", "the same as in " + name_a};
  for (std::size_t s = 0; s < a.tallies.size(); ++s) {
    if (a.tallies[s].declared == b.tallies[s].declared) continue;
    return Error{name_b + ": declaration", b.tallies[s].subject, "the same as in " + name_a};
  }
  return {};
}

// Case k of every shard before case k + 1 of any: the order of the list.
std::vector<CaseResult> in_order(const std::vector<const GateReport*>& shards, std::size_t subject) {
  std::vector<CaseResult> results;
  for (std::size_t k = 0;; ++k) {
    bool any = false;
    for (const GateReport* shard : shards) {
      const std::vector<CaseResult>& own = shard->tallies[subject].results;
      if (k >= own.size()) continue;
      results.push_back(own[k]);
      any = true;
    }
    if (!any) return results;
  }
}

Result<Tally> merged(const std::vector<const GateReport*>& shards, std::size_t subject,
                     const Floors& floors) {
  const Tally& first = shards.front()->tallies[subject];
  Tally tally;
  tally.subject = first.subject;
  tally.declared = first.declared;
  for (const GateReport* shard : shards) tally.add(shard->tallies[subject]);
  tally.results = in_order(shards, subject);
  const Result<Declaration> declaration = parse_declaration(first.declared);
  if (!declaration.ok()) return declaration.error();
  std::vector<Case> lines;
  for (const CaseResult& result : tally.results) lines.push_back(result.line);
  tally.close(*declaration, lines, floors);
  return tally;
}

}  // namespace

Result<GateReport> merge_reports(const std::vector<GateReport>& parts,
                                 const std::vector<std::string>& names) {
  if (parts.empty()) return Error{"reports", "", "at least one"};
  const GateReport& first = parts.front();
  std::vector<const GateReport*> shards(static_cast<std::size_t>(first.shard.count), nullptr);
  for (std::size_t n = 0; n < parts.size(); ++n) {
    if (Status status = same_gate(first, names.front(), parts[n], names[n])) return *status;
    const GateReport*& place = shards[static_cast<std::size_t>(parts[n].shard.index - 1)];
    if (place != nullptr) {
      return Error{names[n] + ": shard.index", std::to_string(parts[n].shard.index), "each shard once"};
    }
    place = &parts[n];
  }
  GateReport whole;
  whole.tier = first.tier;
  whole.floors = first.floors;
  whole.seed = first.seed;
  whole.list = first.list;
  whole.rounds_seed = first.rounds_seed;
  for (std::size_t n = 0; n < shards.size(); ++n) {
    if (shards[n] == nullptr) whole.missing.push_back(static_cast<std::int64_t>(n) + 1);
  }
  shards.erase(std::remove(shards.begin(), shards.end(), nullptr), shards.end());
  for (const GateReport* shard : shards) {
    whole.cases += shard->cases;
    whole.rounds = std::max(whole.rounds, shard->rounds);
    whole.unusable.insert(whole.unusable.end(), shard->unusable.begin(), shard->unusable.end());
    if (whole.interrupted.empty()) whole.interrupted = shard->interrupted;
    whole.seconds = std::max(whole.seconds, shard->seconds);
  }
  for (std::size_t s = 0; s < first.tallies.size(); ++s) {
    Result<Tally> tally = merged(shards, s, whole.floors);
    if (!tally.ok()) return tally.error();
    whole.tallies.push_back(std::move(*tally));
  }
  const Tier* tier = find_tier(whole.tier);
  if (tier != nullptr && tier->pairs) whole.pairs = pairs_of_tallies(whole.tallies);
  return whole;
}

}  // namespace moe4::oracle
