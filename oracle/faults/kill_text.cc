#include "oracle/faults/kill_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

// A dot where the rule tells the fault in every real case, M where it lets all pass, m where it lets some; -
// where no real case shows the fault.
std::string peer_marks(const FaultOutcome& outcome) {
  std::string marks;
  for (const std::int64_t passed : outcome.passed_by) {
    marks += outcome.real_cases == 0       ? "  -"
             : passed == 0                 ? "  ."
             : passed < outcome.real_cases ? "  m"
                                           : "  M";
  }
  return marks;
}

std::string short_case(const Case& c) {
  return fmt::format("{} {} {} {} seed={:#x}", name_of(c.op), name_of(c.weights), name_of(c.fill),
                     name_of(c.routing), c.seed);
}

std::string rule_id(const FaultOutcome& outcome) {
  const bool by_value = outcome.reason.find("outputs are wrong") != std::string::npos;
  const std::string& from = by_value ? outcome.rule : outcome.reason;
  return from.substr(0, from.find(':'));
}

std::string row(const FaultOutcome& outcome) {
  const std::string head = fmt::format("{:<27} {}  {:>3}/{:<3}", outcome.fault->name, outcome.fault->cls,
                                       outcome.visible, outcome.applicable);
  if (!outcome.defect.empty()) return fmt::format("{}  DEFECT {}\n", head, outcome.defect);
  if (!outcome.caught()) {
    return fmt::format("{}  {}\n", head, outcome.visible > 0 ? "SURVIVED" : "DEFECT never visible");
  }
  return fmt::format("{} {}  {:<6} {:<6} {}\n", head, peer_marks(outcome), outcome.tier, rule_id(outcome),
                     short_case(*outcome.caught_by));
}

std::string peer_summary(const SelftestReport& report) {
  std::string text;
  std::int64_t shown = 0;
  for (const FaultOutcome& outcome : report.faults) shown += outcome.real_cases > 0 ? 1 : 0;
  for (std::size_t n = 0; n < kPeerRules; ++n) {
    std::int64_t all = 0, some = 0;
    for (const FaultOutcome& outcome : report.faults) {
      all += outcome.real_cases > 0 && outcome.passed_by[n] == outcome.real_cases ? 1 : 0;
      some += outcome.passed_by[n] > 0 ? 1 : 0;
    }
    text += fmt::format("  {:<10} misses {:>3} of {} in every real case, {:>3} in some\n",
                        peer_rules()[n].name, all, shown, some);
  }
  return text;
}

}  // namespace

std::string fault_table(const SelftestReport& report) {
  std::string text = fmt::format("{:<27} {} {:>7}   {}  {:<6} {:<6} {}\n", "fault", "cls", "seen",
                                 "peers' rules", " tier", "rule", "caught by");
  for (const FaultOutcome& outcome : report.faults) text += row(outcome);
  text +=
      "\nseen: cases up to the one that caught it in which the fault changes something that counts, of those "
      "in "
      "which it can be planted\npeers' rules, on at most 3 cases of fill=real: M passes the fault, m in some "
      "of "
      "them, . tells it, - none shows it:\n";
  text += peer_summary(report);
  for (const FalseAlarm& alarm : report.alarms) {
    text +=
        fmt::format("\nFALSE ALARM {} ({})\n  {}\n", to_string(alarm.line), alarm.arithmetic, alarm.verdict);
  }
  text += fmt::format(
      "\n{} faults, {} not caught; {} healthy runs, {} false alarms, {} without a bound; {:.1f} s\n",
      report.faults.size(), report.survivors(), report.controls, report.alarms.size(), report.unbounded,
      report.seconds);
  return text;
}

std::string selftest_json(const SelftestReport& report) {
  Json json = {{"moe4.selftest", 1}, {"passed", report.passed()}, {"faults", Json::array()}};
  for (const FaultOutcome& outcome : report.faults) {
    Json fault = {{"name", outcome.fault->name},   {"class", std::string(1, outcome.fault->cls)},
                  {"caught", outcome.caught()},    {"applicable", outcome.applicable},
                  {"visible", outcome.visible},    {"real_cases", outcome.real_cases},
                  {"passed_by", outcome.passed_by}};
    if (outcome.caught_by) {
      fault["tier"] = outcome.tier;
      fault["case"] = to_string(*outcome.caught_by);
      fault["rule"] = outcome.rule;
      fault["reason"] = outcome.reason;
      fault["where"] = outcome.where;
    }
    if (!outcome.defect.empty()) fault["defect"] = outcome.defect;
    json["faults"].push_back(std::move(fault));
  }
  json["peers"] = Json::array();
  for (const PeerRule& rule : peer_rules()) json["peers"].push_back(rule.name);
  json["controls"] = report.controls;
  json["unbounded"] = report.unbounded;
  json["alarms"] = Json::array();
  for (const FalseAlarm& alarm : report.alarms) {
    json["alarms"].push_back(
        {{"case", to_string(alarm.line)}, {"arithmetic", alarm.arithmetic}, {"verdict", alarm.verdict}});
  }
  json["seconds"] = report.seconds;
  return json.dump(2) + "\n";
}

std::string catalogue_markdown() {
  std::string text = "| class | fault | what the kernel does | seen in public |\n|---|---|---|---|\n";
  for (const Fault& fault : fault_catalogue()) {
    text += fmt::format("| {} | `{}` | {} | {} |\n", fault.cls, fault.name, fault.sentence, fault.example);
  }
  return text;
}

}  // namespace moe4::oracle
