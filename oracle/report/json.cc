#include "oracle/report/json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "oracle/report/failure.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  // Reasons may quote bytes of hostile files; what is no UTF-8 is replaced, never thrown at the caller.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string hex(std::uint64_t bits, Dtype dtype) {
  return fmt::format("0x{:0{}x}", bits, 2 * size_of(dtype));
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json verdict_object(const Verdict& verdict, Dtype output) {
  Json json = {{"status", std::string(name_of(verdict.status))},
               {"rule", verdict.rule},
               {"reason", verdict.reason},
               {"outputs", verdict.outputs},
               {"mismatched", verdict.mismatched},
               {"nan", verdict.nan},
               {"inf", verdict.inf},
               {"unwritten", verdict.unwritten},
               {"stray", verdict.stray},
               {"singleton_share", verdict.singleton_share},
               {"max_ulp", verdict.max_ulp},
               {"bits_compared", verdict.bits_compared},
               {"bits_differ", verdict.bits_differ},
               {"pairs", verdict.coverage.count()}};
  if (verdict.proof) {
    json["proof"] = {{"proved", verdict.proof->proved},
                     {"largest_units", verdict.proof->largest_units},
                     {"limit_units", verdict.proof->limit_units}};
  }
  if (!verdict.worst.empty()) json["worst"] = Json::array();
  for (const Mismatch& m : verdict.worst) {
    json["worst"].push_back({{"row", m.row},
                             {"out", m.out},
                             {"expected_lo", hex(m.expected_lo, output)},
                             {"expected_hi", hex(m.expected_hi, output)},
                             {"got", hex(m.got, output)},
                             {"ulps", m.ulps}});
  }
  if (!verdict.findings.empty()) json["findings"] = Json::array();
  for (const DeviceFinding& finding : verdict.findings) {
    json["findings"].push_back(
        {{"check", finding.check}, {"text", finding.text}, {"formal", finding.formal}});
  }
  return json;
}

Json tally_object(const Tally& tally) {
  Json fills = Json::array(), routings = Json::array(), tails = Json::array(), results = Json::array();
  for (const Fill fill : tally.fills) fills.push_back(std::string(name_of(fill)));
  for (const Routing routing : tally.routings) routings.push_back(std::string(name_of(routing)));
  for (const Tail tail : tally.tails) tails.push_back(std::string(name_of(tail)));
  for (const CaseResult& result : tally.results) {
    Json object = {{"case", to_string(result.line)}, {"seconds", result.seconds}};
    object.update(verdict_object(result.verdict, result.line.dtype));
    if (is_red(result.verdict.status)) object["replay"] = replay_command(result.line, result.selector);
    results.push_back(std::move(object));
  }
  return {{"name", tally.subject},
          {"status", std::string(name_of(tally.status))},
          {"unmet", tally.unmet},
          {"cases",
           {{"listed", tally.listed},
            {"ran", tally.ran},
            {"passed", tally.passed},
            {"red", tally.red},
            {"unsupported", tally.unsupported},
            {"skipped", tally.skipped}}},
          {"coverage",
           {{"pairs", tally.coverage.pairs.count()},
            {"int4_pairs", tally.coverage.int4_pairs.count()},
            {"outputs", tally.coverage.outputs},
            {"fills", fills},
            {"routings", routings},
            {"tails", tails}}},
          {"tightness",
           {{"all", optional_number(tally.all.share())},
            {"real_bf16", optional_number(tally.real_bf16.share())}}},
          {"max_ulp", tally.max_ulp},
          {"bits_compared", tally.bits_compared},
          {"findings", tally.findings},
          {"formal_findings", tally.formal_findings},
          {"seconds", tally.seconds},
          {"thread_instructions", tally.thread_instructions},
          {"results", results}};
}

}  // namespace

std::string gate_json(const GateReport& report) {
  Json subjects = Json::array();
  for (const Tally& tally : report.tallies) subjects.push_back(tally_object(tally));
  return dump({{"moe4.report", 1},
               {"tier", report.tier},
               {"seed", report.seed},
               {"shard", {{"index", report.shard.index}, {"count", report.shard.count}}},
               {"cases", report.cases},
               {"exit_code", static_cast<int>(report.exit_code())},
               {"seconds", report.seconds},
               {"unusable", report.unusable},
               {"subjects", subjects}});
}

std::string verdict_json(const Verdict& verdict, Dtype output) {
  Json json = {{"moe4.verdict", 1}};
  json.update(verdict_object(verdict, output));
  return dump(json);
}

}  // namespace moe4::oracle
