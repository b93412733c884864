// A report that gate_json wrote, read again: for moe4 merge and --baseline.
#include <algorithm>
#include <charconv>

#include "oracle/file/strict_json.h"
#include "oracle/fixtures/fixture_set.h"
#include "oracle/report/json.h"
#include "oracle/report/json_reader.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kMostShards = 65536;

// The value of this name, among all of them.
template <class Value>
Value named(const JsonReader& json, const char* key, const std::string& name, const std::vector<Value>& all) {
  for (const Value value : all) {
    if (name == name_of(value)) return value;
  }
  json.fail(key, name, "a known name");
  return all.front();
}

template <class Value>
std::set<Value> set_of(const JsonReader& json, const char* key, const std::vector<Value>& all) {
  std::set<Value> values;
  for (const std::string& name : json.texts(key)) values.insert(named(json, key, name, all));
  return values;
}

Coverage::Pairs pairs_of(const JsonReader& json, const char* key) {
  Coverage::Pairs pairs;
  const std::string text = json.text(key);
  const char* at = text.data();
  if (text.size() != pairs.size() / 4) json.fail(key, std::to_string(text.size()), "1024 hex digits");
  for (std::size_t begin = 0; begin < pairs.size() && text.size() == pairs.size() / 4;
       begin += 64, at += 16) {
    std::uint64_t word = 0;
    const auto [end, problem] = std::from_chars(at, at + 16, word, 16);
    if (problem != std::errc() || end != at + 16) json.fail(key, std::string(at, 16), "hex digits");
    for (std::size_t bit = 0; bit < 64; ++bit) pairs[begin + bit] = (word >> bit & 1) != 0;
  }
  return pairs;
}

std::set<std::pair<Op, WeightFormat>> ops_of(const JsonReader& json) {
  std::set<std::pair<Op, WeightFormat>> ops;
  for (const std::string& text : json.texts("ops")) {
    const std::size_t blank = text.find(' ');
    const std::optional<Op> op = op_from_name(text.substr(0, blank));
    const std::optional<WeightFormat> format =
        weight_format_from_name(blank == std::string::npos ? "" : text.substr(blank + 1));
    if (op && format) {
      ops.insert({*op, *format});
    } else {
      json.fail("ops", text, "an operation and a weight format");
    }
  }
  return ops;
}

Picture picture_in(const JsonReader& json) {
  Picture picture;
  picture.rows = json.whole("rows", 1);
  picture.outputs = json.whole("outputs", 1);
  picture.row_step = json.whole("row_step", 1);
  picture.output_step = json.whole("output_step", 1);
  picture.row_name = json.text("row_name");
  const bool small = picture.rows / picture.row_step <= kPictureRows &&
                     picture.outputs / picture.output_step <= kPictureColumns;
  if (!small) json.fail("row_step", "", "at most 64 by 128 cells");
  for (const auto& cell : json.raw("cells")) {
    const bool three = cell.is_array() && cell.size() == 3 && cell[0].is_number_unsigned() &&
                       cell[1].is_number_unsigned() && cell[2].is_number_unsigned();
    PictureCell read;
    if (three) read = {cell[0].get<std::int64_t>(), cell[1].get<std::int64_t>(), cell[2].get<std::int64_t>()};
    if (!three || !small || read.row < 0 || read.column < 0 || read.row >= picture.cell_rows() ||
        read.column >= picture.cell_columns() || read.wrong < 1) {
      json.fail("cells", "", "a list of [row, column, wrong] inside of the picture");
      return {};
    }
    picture.cells.push_back(read);
  }
  return picture;
}

CaseResult result_in(const JsonReader& json, const std::string& subject) {
  CaseResult result;
  result.subject = subject;
  Result<Case> line = parse_case(json.text("case"));
  if (line.ok()) {
    result.line = std::move(*line);
  } else {
    json.fail("case", line.error().value, line.error().rule);
  }
  Verdict& v = result.verdict;
  v.status = named(json, "status", json.text("status"), all_statuses());
  v.reason = json.text("reason");
  result.seconds = json.number("seconds");
  if (v.status == VerdictStatus::kUnsupported || v.status == VerdictStatus::kSkipped) return result;
  v.rule = json.text("rule");
  v.outputs = json.whole("outputs");
  v.mismatched = json.whole("mismatched");
  v.nan = json.whole("nan");
  v.inf = json.whole("inf");
  v.unwritten = json.whole("unwritten");
  v.stray = json.whole("stray");
  v.bits_compared = json.whole("bits_compared");
  v.bits_differ = json.whole("bits_differ");
  if (json.has("executor_compared")) {
    v.twin_compared = json.whole("executor_compared");
    v.twin_differ = json.whole("executor_differ");
  }
  v.singleton_share = json.number("singleton_share");
  v.max_ulp = json.number("max_ulp");
  if (json.has("where")) v.where = json.texts("where");
  if (json.has("picture")) v.picture = picture_in(json.object("picture"));
  if (is_red(v.status)) {
    result.selector = json.text("selector");
    result.failure = json.text("failure");
  }
  if (json.has("known")) {
    result.known = json.text("known");
    result.unexpected_pass = json.flag("unexpected_pass");
  }
  return result;
}

Tally tally_in(const JsonReader& json) {
  Tally tally;
  tally.subject = json.text("name");
  tally.declared =
      json.raw("declaration").dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  Result<Declaration> declaration = parse_declaration(tally.declared);
  if (declaration.ok()) {
    tally.declared = to_json(*declaration);
  } else {
    json.fail("declaration", declaration.error().field, declaration.error().rule);
  }
  tally.status = named(json, "status", json.text("status"), all_statuses());
  tally.unmet = json.texts("unmet");
  const JsonReader cases = json.object("cases");
  tally.listed = cases.whole("listed");
  tally.ran = cases.whole("ran");
  tally.passed = cases.whole("passed");
  tally.red = cases.whole("red");
  tally.known = cases.whole("known");
  tally.unsupported = cases.whole("unsupported");
  tally.skipped = cases.whole("skipped");
  const JsonReader coverage = json.object("coverage");
  tally.coverage.pairs = pairs_of(coverage, "pairs_seen");
  tally.coverage.int4_pairs = pairs_of(coverage, "int4_pairs_seen");
  tally.coverage.outputs = coverage.whole("outputs");
  tally.ops = ops_of(coverage);
  tally.fills = set_of(coverage, "fills", all_fills());
  tally.routings = set_of(coverage, "routings", all_routings());
  for (std::string& layout : coverage.texts("layouts")) tally.layouts.insert(std::move(layout));
  tally.tails = set_of<Tail>(coverage, "tails", {Tail::kTokens, Tail::kOutputs, Tail::kInputs});
  const JsonReader tightness = json.object("tightness");
  tally.all = {tightness.number("all_outputs"), tightness.number("all_singletons")};
  tally.real_bf16 = {tightness.number("real_bf16_outputs"), tightness.number("real_bf16_singletons")};
  tally.max_ulp = json.number("max_ulp");
  tally.findings = json.whole("findings");
  tally.bits_compared = json.whole("bits_compared");
  tally.formal_findings = json.whole("formal_findings");
  tally.seconds = json.number("seconds");
  tally.thread_instructions = json.number64("thread_instructions");
  for (const JsonReader& result : json.objects("results"))
    tally.results.push_back(result_in(result, tally.subject));
  // What a report says of itself is not believed where it can be counted.
  const auto red = std::count_if(tally.results.begin(), tally.results.end(),
                                 [](const CaseResult& result) { return is_red(result); });
  if (red != tally.red || static_cast<std::int64_t>(tally.results.size()) != tally.listed) {
    json.fail("cases", std::to_string(tally.red), "the counts of its results");
  }
  return tally;
}

Floors floors_in(const JsonReader& json) {
  Floors floors;
  floors.pairs = json.whole("pairs");
  floors.every_op = json.flag("every_op");
  floors.every_fill = json.flag("every_fill");
  floors.every_routing = json.flag("every_routing");
  floors.every_tail = json.flag("every_tail");
  floors.every_layout = json.flag("every_layout");
  floors.ran_share = json.number("ran_share");
  floors.real_singletons = json.number("real_singletons");
  return floors;
}

}  // namespace

Result<GateReport> parse_gate_json(std::string_view text) {
  Result<nlohmann::ordered_json> document = parse_strict_json(text, "report");
  if (!document.ok()) return document.error();
  Status error;
  const JsonReader json(*document, "", error);
  if (json.whole("moe4.report") != kReportVersion) {
    json.fail("moe4.report", "", "version " + std::to_string(kReportVersion) + " of a gate's report");
  }
  if (json.whole("norm") != kNormVersion) json.fail("norm", "", "version " + std::to_string(kNormVersion));
  if (error) return *error;
  GateReport report;
  report.tier = json.text("tier");
  report.floors = floors_in(json.object("floors"));
  report.seed = json.number64("seed");
  const JsonReader shard = json.object("shard");
  report.shard = {shard.whole("index", 1), shard.whole("count", 1)};
  if (report.shard.index > report.shard.count || report.shard.count > kMostShards) {
    shard.fail("index", std::to_string(report.shard.index), "index <= count <= 65536");
  }
  report.list = json.text("list");
  report.cases = json.whole("cases");
  report.rounds = json.whole("rounds");
  if (json.has("rounds_seed")) report.rounds_seed = json.number64("rounds_seed");
  report.unusable = json.texts("unusable");
  report.missing = json.wholes("missing");
  report.interrupted = json.text("interrupted");
  report.seconds = json.number("seconds");
  for (const JsonReader& subject : json.objects("subjects")) report.tallies.push_back(tally_in(subject));
  if (error) return *error;
  return report;
}

}  // namespace moe4::oracle
