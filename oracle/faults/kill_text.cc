#include "oracle/faults/kill_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

std::string format_word(const FaultOutcome& outcome) {
  return outcome.op == Op::kCombine ? "-" : std::string(moe4::name_of(outcome.weights));
}

std::string short_case(const Case& c) {
  return fmt::format("{} {} seed={:#x}", name_of(c.fill), name_of(c.routing), c.seed);
}

// "T1 E2 K1 i32 O1 real": how much a keep_ list leaves.
std::string short_shape(const Case& c) {
  const auto kept = [](const std::vector<std::int64_t>& list, std::int64_t size) {
    return list.empty() ? size : static_cast<std::int64_t>(list.size());
  };
  const std::int64_t codes = c.keep_codes.empty() ? 32 * kept(c.keep_groups, c.in / 32)
                                                  : static_cast<std::int64_t>(c.keep_codes.size());
  return fmt::format("T{} E{} K{} i{} O{} {}", kept(c.keep_tokens, c.tokens), c.experts, c.top_k, codes,
                     kept(c.keep_outputs, c.out), name_of(c.fill));
}

std::string_view confidence_word(Confidence confidence) {
  switch (confidence) {
    case Confidence::kNone:
      return "none";
    case Confidence::kLow:
      return "low";
    case Confidence::kHigh:
      return "high";
  }
  return "";
}

// "high: itself or x, y": x and y give the same outputs on that case.
std::string short_diagnosis(const FaultOutcome& outcome) {
  if (!outcome.diagnosis) return "";
  const Diagnosis& diagnosis = *outcome.diagnosis;
  std::string names;
  for (const FaultMatch& match : diagnosis.matches) {
    if (match.fault->name == outcome.fault->name) continue;
    names += (names.empty() ? "" : ", ") + std::string(match.fault->name);
  }
  const bool right = diagnosis.names(outcome.fault->name);
  const std::string who = !right ? (names.empty() ? "nothing" : "NOT ITSELF: " + names)
                                 : "itself" + (names.empty() ? "" : " or " + names);
  return fmt::format("{}: {}", confidence_word(diagnosis.confidence), who);
}

std::string rule_id(const FaultOutcome& outcome) {
  const bool by_value = outcome.reason.find("outputs are wrong") != std::string::npos;
  const std::string& from = by_value ? outcome.rule : outcome.reason;
  return from.substr(0, from.find(':'));
}

std::string row(const FaultOutcome& outcome) {
  const std::string head =
      fmt::format("{:<27} {} {:<18} {:<5} {:>3}/{:<3}", outcome.fault->name, outcome.fault->cls,
                  name_of(outcome.op), format_word(outcome), outcome.visible, outcome.applicable);
  if (!outcome.defect.empty()) return fmt::format("{} DEFECT {}\n", head, outcome.defect);
  if (!outcome.caught()) {
    return fmt::format("{} {}\n", head, outcome.visible > 0 ? "SURVIVED" : "DEFECT never visible");
  }
  const std::string shrunk = outcome.shrunk ? short_shape(*outcome.shrunk) : "";
  return fmt::format("{}{}  {:<5} {:<6} {:<34} {:<32} {}\n", head, peer_marks(outcome), outcome.tier,
                     rule_id(outcome), short_case(*outcome.caught_by), shrunk, short_diagnosis(outcome));
}

std::string legend() {
  return "\nseen: cases up to the one that caught it in which the fault changes something that counts, of "
         "those of the operation and format\npeers' rules, on at most 3 cases of fill=real: M passes the "
         "fault, "
         "m in some of them, . tells it, - none shows it\nshrunk to: kept tokens, experts, slots, columns of "
         "i, "
         "outputs, fill\n";
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

std::string naming_summary(const SelftestReport& report) {
  const NamingRate rate = report.naming();
  if (rate.asked == 0) return "";
  const auto percent = [&](std::int64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(rate.asked);
  };
  return fmt::format(
      "named right {} of {} ({:.1f} %), {:.1f} % by that name alone; {} with high confidence, {} of them "
      "wrong\n",
      rate.right, rate.asked, percent(rate.right), percent(rate.alone), rate.high, rate.high_and_wrong);
}

// How many faults there are, whatever the operations.
std::size_t count_faults(const SelftestReport& report) {
  std::set<std::string_view> names;
  for (const FaultOutcome& outcome : report.faults) names.insert(outcome.fault->name);
  return names.size();
}

}  // namespace

std::string fault_table(const SelftestReport& report) {
  std::string text = fmt::format("{:<27} {} {:<18} {:<5} {:>7}{:>18}  {:<5} {:<6} {:<34} {:<32} {}\n",
                                 "fault", " ", "operation", "of", "seen", "peers' rules", "tier", "rule",
                                 "caught by", "shrunk to", "named as");
  if (report.faults.empty()) text.clear();
  for (const FaultOutcome& outcome : report.faults) text += row(outcome);
  if (!report.faults.empty()) text += legend() + peer_summary(report) + naming_summary(report);
  for (const FalseAlarm& alarm : report.alarms) {
    text +=
        fmt::format("\nFALSE ALARM {} ({})\n  {}\n", to_string(alarm.line), alarm.arithmetic, alarm.verdict);
  }
  text += fmt::format(
      "\n{} faults in {} rows, {} not caught; {} healthy runs, {} false alarms, {} without a bound; {:.1f} "
      "s\n",
      count_faults(report), report.faults.size(), report.survivors(), report.controls, report.alarms.size(),
      report.unbounded, report.seconds);
  return text;
}

std::string selftest_json(const SelftestReport& report) {
  Json json = {{"moe4.selftest", 1}, {"passed", report.passed()}, {"faults", Json::array()}};
  for (const FaultOutcome& outcome : report.faults) {
    Json fault = {{"name", outcome.fault->name},   {"class", std::string(1, outcome.fault->cls)},
                  {"op", name_of(outcome.op)},     {"weights", format_word(outcome)},
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
    if (outcome.shrunk) fault["shrunk"] = to_string(*outcome.shrunk);
    if (outcome.diagnosis) {
      fault["confidence"] = confidence_word(outcome.diagnosis->confidence);
      fault["named"] = Json::array();
      for (const FaultMatch& match : outcome.diagnosis->matches) fault["named"].push_back(match.fault->name);
    }
    if (!outcome.defect.empty()) fault["defect"] = outcome.defect;
    json["faults"].push_back(std::move(fault));
  }
  json["peers"] = Json::array();
  for (const PeerRule& rule : peer_rules()) json["peers"].push_back(rule.name);
  const NamingRate rate = report.naming();
  json["naming"] = {{"asked", rate.asked},
                    {"right", rate.right},
                    {"alone", rate.alone},
                    {"high", rate.high},
                    {"high_and_wrong", rate.high_and_wrong}};
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
