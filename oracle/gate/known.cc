#include "oracle/gate/known.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "oracle/case/keys.h"
#include "oracle/case/nearest.h"
#include "oracle/file/strict_json.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

Status set_pair(Case& c, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  std::vector<std::string> names;
  for (const CaseKey& known : case_key_table()) {
    if (known.name == key && equals != std::string::npos) return known.set(c, key, word.substr(equals + 1));
    names.push_back(known.name);
  }
  return Error{"case", word,
               "CASE-2: key=value with a key of a case line; the nearest is " + nearest_name(key, names)};
}

// Calls `each` for every pair until one gives an Error.
template <class Each>
Status for_each_pair(const std::string& where, Each each) {
  std::istringstream words(where);
  for (std::string word; words >> word;) {
    if (Status status = each(word)) return status;
  }
  return {};
}

Result<VerdictStatus> red_status(const std::string& name) {
  std::vector<std::string> known;
  for (const VerdictStatus status : all_statuses()) {
    if (!is_red(status)) continue;
    if (name == name_of(status)) return status;
    known.emplace_back(name_of(status));
  }
  return Error{"status", name, "a red status (VER-1); the nearest is " + nearest_name(name, known)};
}

Result<KnownFault> parse_entry(const Json& json) {
  if (!json.is_object()) return Error{"", json.dump(), "an object"};
  KnownFault fault;
  std::string status = "FAILED";
  const std::pair<const char*, std::string&> fields[] = {{"subject", fault.subject},
                                                         {"case", fault.where},
                                                         {"status", status},
                                                         {"link", fault.link},
                                                         {"reason", fault.reason}};
  std::vector<std::string> names;
  for (const auto& [name, value] : fields) {
    names.emplace_back(name);
    if (!json.contains(name)) continue;
    if (!json[name].is_string()) return Error{name, json[name].dump(), "a string"};
    value = json[name].get<std::string>();
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    return Error{key, "", "unknown; the nearest known field is " + nearest_name(key, names)};
  }
  if (fault.subject.empty() && fault.where.empty())
    return Error{"subject", "", "an entry has a subject or a case"};
  if (fault.link.empty()) return Error{"link", "", "says where the fault is tracked"};
  if (fault.reason.empty()) return Error{"reason", "", "says in a sentence what the fault is"};
  Case scratch;
  if (Status bad =
          for_each_pair(fault.where, [&](const std::string& word) { return set_pair(scratch, word); })) {
    return *bad;
  }
  const Result<VerdictStatus> red = red_status(status);
  if (!red.ok()) return red.error();
  fault.status = *red;
  return fault;
}

}  // namespace

bool KnownFault::names(std::string_view of_subject, const Case& line) const {
  if (!subject.empty() && subject != of_subject) return false;
  // A pair that a case has changes nothing in it.
  return !for_each_pair(where, [&](const std::string& word) -> Status {
    Case changed = line;
    if (Status bad = set_pair(changed, word)) return bad;
    return changed == line ? Status() : Status(Error{"case", word, "another"});
  });
}

Result<KnownFaults> parse_known_faults(std::string_view text) {
  Result<Json> json = parse_strict_json(text, "known");
  if (!json.ok()) return json.error();
  if (!json->is_object()) return Error{"known", "", "a JSON object with schema and known"};
  for (const auto& [key, value] : json->items()) {
    if (key != "schema" && key != "known")
      return Error{"known." + key, "", "unknown; known are schema and known"};
  }
  if (!json->contains("schema") || (*json)["schema"] != 1) return Error{"known.schema", "", "1"};
  if (!json->contains("known") || !(*json)["known"].is_array())
    return Error{"known.known", "", "a list of objects"};
  KnownFaults faults;
  for (const Json& entry : (*json)["known"]) {
    Result<KnownFault> fault = parse_entry(entry);
    if (!fault.ok()) {
      const Error& e = fault.error();
      return Error{fmt::format("known[{}].{}", faults.size(), e.field), e.value, e.rule};
    }
    faults.push_back(std::move(*fault));
  }
  return faults;
}

void mark_known(const KnownFaults& faults, CaseResult& result) {
  for (const KnownFault& fault : faults) {
    if (!fault.names(result.subject, result.line)) continue;
    const bool passed = result.verdict.status == VerdictStatus::kPassed;
    if (result.verdict.status != fault.status && !passed) continue;
    result.known = fault.link + ": " + fault.reason;
    result.unexpected_pass = passed;
    return;
  }
}

}  // namespace moe4::oracle
