#include "oracle/report/json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "oracle/fixtures/fixture_set.h"
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

// The set bits, 64 of them a word of 16 hex digits.
std::string hex(const Coverage::Pairs& pairs) {
  std::string text;
  for (std::size_t begin = 0; begin < pairs.size(); begin += 64) {
    std::uint64_t word = 0;
    for (std::size_t bit = 0; bit < 64; ++bit) word |= std::uint64_t{pairs[begin + bit]} << bit;
    text += fmt::format("{:016x}", word);
  }
  return text;
}

Json picture_object(const Picture& picture) {
  Json cells = Json::array();
  for (const PictureCell& cell : picture.cells) cells.push_back({cell.row, cell.column, cell.wrong});
  return {{"rows", picture.rows},         {"outputs", picture.outputs},
          {"row_step", picture.row_step}, {"output_step", picture.output_step},
          {"row_name", picture.row_name}, {"cells", cells}};
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json verdict_object(const Verdict& verdict, Dtype output) {
  if (verdict.status == VerdictStatus::kUnsupported || verdict.status == VerdictStatus::kSkipped) {
    return {{"status", std::string(name_of(verdict.status))}, {"reason", verdict.reason}};
  }
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
  if (verdict.twin_compared > 0) {
    json["executor_compared"] = verdict.twin_compared;
    json["executor_differ"] = verdict.twin_differ;
  }
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
  if (!verdict.where.empty()) json["where"] = verdict.where;
  if (!verdict.picture.empty()) json["picture"] = picture_object(verdict.picture);
  if (!verdict.hardware.empty()) json["hardware"] = verdict.hardware;
  if (!verdict.approximate.empty()) json["approximate"] = verdict.approximate;
  if (!verdict.findings.empty()) json["findings"] = Json::array();
  for (const DeviceFinding& finding : verdict.findings) {
    json["findings"].push_back(
        {{"check", finding.check}, {"text", finding.text}, {"formal", finding.formal}});
  }
  return json;
}

Json tally_object(const Tally& tally) {
  Json fills = Json::array(), routings = Json::array(), tails = Json::array(), ops = Json::array(),
       layouts = Json::array(), results = Json::array();
  for (const auto& [op, format] : tally.ops) {
    ops.push_back(std::string(name_of(op)) + " " + std::string(moe4::name_of(format)));
  }
  for (const Fill fill : tally.fills) fills.push_back(std::string(name_of(fill)));
  for (const Routing routing : tally.routings) routings.push_back(std::string(name_of(routing)));
  for (const std::string& layout : tally.layouts) layouts.push_back(layout);
  for (const Tail tail : tally.tails) tails.push_back(std::string(name_of(tail)));
  for (const CaseResult& result : tally.results) {
    Json object = {{"case", to_string(result.line)}, {"seconds", result.seconds}};
    object.update(verdict_object(result.verdict, result.line.dtype));
    if (is_red(result.verdict.status)) {
      object["replay"] = replay_command(result.line, result.selector);
      object["selector"] = result.selector;
      object["failure"] = result.failure;
    }
    if (!result.known.empty()) {
      object["known"] = result.known;
      object["unexpected_pass"] = result.unexpected_pass;
    }
    results.push_back(std::move(object));
  }
  return {{"name", tally.subject},
          {"status", std::string(name_of(tally.status))},
          {"unmet", tally.unmet},
          {"declaration", Json::parse(tally.declared, nullptr, false)},
          {"cases",
           {{"listed", tally.listed},
            {"ran", tally.ran},
            {"passed", tally.passed},
            {"red", tally.red},
            {"known", tally.known},
            {"unsupported", tally.unsupported},
            {"skipped", tally.skipped}}},
          {"coverage",
           {{"pairs", tally.coverage.pairs.count()},
            {"int4_pairs", tally.coverage.int4_pairs.count()},
            {"outputs", tally.coverage.outputs},
            {"pairs_seen", hex(tally.coverage.pairs)},
            {"int4_pairs_seen", hex(tally.coverage.int4_pairs)},
            {"ops", ops},
            {"fills", fills},
            {"routings", routings},
            {"tails", tails},
            {"layouts", layouts}}},
          {"tightness",
           {{"all", optional_number(tally.all.share())},
            {"real_bf16", optional_number(tally.real_bf16.share())},
            {"all_outputs", tally.all.outputs},
            {"all_singletons", tally.all.singletons},
            {"real_bf16_outputs", tally.real_bf16.outputs},
            {"real_bf16_singletons", tally.real_bf16.singletons}}},
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
  Json json = {{"moe4.report", kReportVersion},
               {"norm", kNormVersion},
               {"tier", report.tier},
               {"seed", report.seed},
               {"list", report.list},
               {"floors",
                {{"pairs", report.floors.pairs},
                 {"every_op", report.floors.every_op},
                 {"every_fill", report.floors.every_fill},
                 {"every_routing", report.floors.every_routing},
                 {"every_tail", report.floors.every_tail},
                 {"every_layout", report.floors.every_layout},
                 {"ran_share", report.floors.ran_share},
                 {"real_singletons", report.floors.real_singletons}}},
               {"shard", {{"index", report.shard.index}, {"count", report.shard.count}}},
               {"cases", report.cases},
               {"exit_code", static_cast<int>(report.exit_code())},
               {"seconds", report.seconds},
               {"rounds", report.rounds},
               {"interrupted", report.interrupted},
               {"missing", report.missing},
               {"unusable", report.unusable},
               {"unmet", report.unmet()}};
  if (report.rounds_seed) json["rounds_seed"] = *report.rounds_seed;
  if (report.baseline) {
    json["baseline"] = {{"new", report.baseline->fresh},
                        {"still", report.baseline->still},
                        {"fixed", report.baseline->fixed},
                        {"gone", report.baseline->gone}};
  }
  json["subjects"] = std::move(subjects);
  return dump(json);
}

std::string verdict_json(const Verdict& verdict, Dtype output) {
  Json json = {{"moe4.verdict", 1}};
  json.update(verdict_object(verdict, output));
  return dump(json);
}

}  // namespace moe4::oracle
