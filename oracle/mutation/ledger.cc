#include "oracle/mutation/ledger.h"

#include <nlohmann/json.hpp>

#include "oracle/file/strict_json.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

Error bad(std::string field, const Json& value, std::string rule) {
  return {"ledger" + std::move(field), value.dump(), std::move(rule)};
}

// Exactly the fields named, no more and no fewer.
Status has_fields(const std::string& field, const Json& object, std::initializer_list<const char*> names) {
  std::string list;
  for (const char* name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  const std::string rule = "an object with the fields " + list;
  if (!object.is_object() || object.size() != names.size()) return bad(field, object, rule);
  for (const char* name : names) {
    if (!object.contains(name)) return bad(field, object, rule);
  }
  return {};
}

Status read_group(const std::string& field, const Json& group, std::vector<LedgerEntry>& entries) {
  if (Status status = has_fields(field, group, {"reason", "mutants"})) return status;
  const Json& reason = group["reason"];
  if (!reason.is_string() || reason.get<std::string>().empty()) {
    return bad(field + ".reason", reason, "why no input can show the change");
  }
  const Json& mutants = group["mutants"];
  if (!mutants.is_object() || mutants.empty()) {
    return bad(field + ".mutants", mutants, "an object: mutant to statement");
  }
  for (const auto& [name, text] : mutants.items()) {
    if (!text.is_string()) return bad(field + ".mutants." + name, text, "the statement, as it stands");
    for (const LedgerEntry& entry : entries) {
      if (entry.mutant == name) return bad(field + ".mutants." + name, text, "each mutant once");
    }
    entries.push_back({name, text.get<std::string>(), reason.get<std::string>()});
  }
  return {};
}

}  // namespace

Result<Ledger> parse_ledger(std::string_view text) {
  const Result<Json> parsed = parse_strict_json(text, "ledger");
  if (!parsed.ok()) return parsed.error();
  const Json& json = *parsed;
  if (Status status = has_fields("", json, {"schema", "subjects"})) return *status;
  if (json["schema"] != 1) return bad(".schema", json["schema"], "this version reads schema 1");
  if (!json["subjects"].is_object()) return bad(".subjects", json["subjects"], "an object by subject");
  Ledger ledger;
  for (const auto& [subject, groups] : json["subjects"].items()) {
    const std::string field = ".subjects." + subject;
    if (!groups.is_array()) return bad(field, groups, "a list of groups");
    for (std::size_t n = 0; n < groups.size(); ++n) {
      const std::string at = field + "[" + std::to_string(n) + "]";
      if (Status status = read_group(at, groups[n], ledger[subject])) return *status;
    }
  }
  return ledger;
}

void apply_ledger(const Ledger& ledger, const std::map<std::string, std::string>& all,
                  MutationReport& report) {
  const auto own = ledger.find(report.subject);
  if (own == ledger.end()) return;
  for (const LedgerEntry& entry : own->second) {
    const auto known = all.find(entry.mutant);
    if (known == all.end()) {
      report.ledger_errors.push_back(entry.mutant + ": there is no such mutant");
      continue;
    }
    if (known->second != entry.text) {
      report.ledger_errors.push_back(entry.mutant + ": the statement is now \"" + known->second +
                                     "\", the entry says \"" + entry.text + "\"");
      continue;
    }
    for (MutantOutcome& mutant : report.mutants) {
      if (mutant.name != entry.mutant) continue;
      if (mutant.fate == Fate::kKilled) {
        report.ledger_errors.push_back(entry.mutant + ": is listed as equivalent, but killed (" + mutant.by +
                                       ") by " + mutant.case_line);
      } else {
        mutant.equivalent = true;
      }
    }
  }
}

}  // namespace moe4::oracle
