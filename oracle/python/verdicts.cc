// The judge: of a result that is there, and of a callable over a list of cases.
#include <nanobind/stl/optional.h>

#include "oracle/case/output_rows.h"
#include "oracle/gate/gate.h"
#include "oracle/gate/tiers.h"
#include "oracle/judge/identify.h"
#include "oracle/python/bindings.h"
#include "oracle/python/callable_subject.h"
#include "oracle/python/errors.h"
#include "oracle/python/views.h"
#include "oracle/report/failure.h"
#include "oracle/report/json.h"
#include "oracle/report/table.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

using oracle::CaseData;
using oracle::Declaration;

// What judges a result of which nothing is known but the words given, as `moe4 check` does.
Declaration declared_by_words(const nb::dict& words, const Policy& policy) {
  Declaration d = oracle::make_reference_subject()->declaration();
  d.name = "result";
  d.arithmetic = {};
  bool accumulation = false;
  for (const auto& [key, value] : words) {
    const std::string name = nb::cast<std::string>(key);
    check(oracle::set_arithmetic(d.arithmetic, name, nb::cast<std::string>(value)));
    if (name == "accumulation") accumulation = true;
  }
  d.profile = moe4::arithmetic_value(d.arithmetic, "profile");
  d.any_accumulation = !accumulation;
  d.zero = policy.zero;
  return d;
}

// (the verdict as JSON, the report as text). declaration: JSON, "" for the words.
nb::tuple judged(const CaseData& data, const View& output, const std::optional<View>& written,
                 const std::string& declaration_json, const nb::dict& words, const std::string& replay) {
  const Declaration declaration = declaration_json.empty()
                                      ? declared_by_words(words, data.policy)
                                      : take(oracle::parse_declaration(declaration_json));
  oracle::SubjectRun run;
  run.output = copy_of(output.tensor());
  if (written) {
    const Tensor rows = copy_of(written->tensor());
    if (rows.dtype() != Dtype::kU8) {
      throw Refused{Error{"written", std::string(name_of(rows.dtype())), "FILE-18: is U8"}};
    }
    run.written.assign(rows.as<std::uint8_t>().begin(), rows.as<std::uint8_t>().end());
  }
  std::string json, text;
  without_gil([&] {
    oracle::Verdict verdict = judge(data, declaration, run);
    if (verdict.mismatched > 0) verdict.where.push_back(identification(data, declaration, run.output));
    json = verdict_json(verdict, output_shape(data).dtype);
    text = failure_block(data, declaration, verdict, replay);
  });
  return nb::make_tuple(json, text);
}

oracle::Floors floors_of(const std::string& tier) {
  if (tier.empty()) return {};
  return oracle::find_tier(tier)->floors;
}

// (exit code, the report as JSON, table, failures, summary). tier: the one whose floors apply, "" for none.
nb::tuple gated(nb::callable run, const std::vector<std::string>& lines, const std::string& declaration_json,
                const std::string& tier, std::uint64_t seed, double seconds) {
  CallableSubject subject(std::move(run), take(oracle::parse_declaration(declaration_json)));
  std::vector<oracle::Case> cases;
  for (const std::string& line : lines) cases.push_back(take(oracle::parse_case(line)));
  oracle::GateOptions options;
  options.tier = tier.empty() ? "python" : tier;
  options.floors = floors_of(tier);
  options.seed = seed;
  options.time = std::chrono::duration<double>(seconds);
  oracle::Subject* subjects[] = {&subject};
  const oracle::GateReport report = without_gil([&] { return run_gate(subjects, cases, options); });
  return nb::make_tuple(static_cast<int>(report.exit_code()), gate_json(report), gate_table(report),
                        gate_failures(report), gate_summary(report));
}

}  // namespace

void bind_verdicts(nb::module_& m) {
  m.def("check", &judged, nb::arg("case"), nb::arg("output"), nb::arg("written").none(),
        nb::arg("declaration"), nb::arg("words"), nb::arg("replay"));
  m.def("gate", &gated);
  m.def("full_declaration",
        [](const std::string& json) { return to_json(take(oracle::parse_declaration(json))); });
}

}  // namespace moe4::python
