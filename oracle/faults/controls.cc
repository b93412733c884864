// Healthy kernels: each returns, to the bit, what its own declaration says (reference/profile). None may
// fail.
#include <fmt/format.h>

#include <optional>

#include "oracle/faults/chains.h"
#include "oracle/faults/selftest.h"
#include "oracle/generate/generate.h"

namespace moe4::oracle {
namespace {

// Every profile, chain shape, slicing, generation of tensor core, operand and dequantisation at least once.
constexpr const char* kArithmetics[] = {
    "order=seq",
    "order=seq products=rounded",
    "order=groups(32)",
    "order=groups(128)",
    "order=lanes(32,8)+shfl",
    "order=lanes(32,1)+shfl",
    "order=lanes(4,1)+seq",
    "order=warps(64,4)+tree",
    "order=warps(32,2)+tree",
    "order=split(2)",
    "order=split(3)",
    "order=split(4)",
    "order=split(5)",
    "order=split(6)",
    "order=split(7)",
    "order=split(8)",
    "order=split(2)*groups(32)",
    "order=split(2)*lanes(32,8)+shfl",
    "order=split(4)*warps(32,2)+tree",
    "order=any",
    "order=seq ftz=yes",
    "order=lanes(32,8)+shfl products=rounded ftz=yes",
    "order=streamk(2)",
    "order=streamk(3)",
    "order=streamk(2)*warps(64,4)+tree",
    "profile=late order=seq",
    "profile=late_bf16_sum order=seq",
    "profile=hf order=seq",
    "profile=early order=seq",
    "profile=late order=lanes(32,8)+shfl",
    "profile=hf order=groups(32) ftz=yes",
    "profile=early order=warps(64,4)+tree accumulation=hopper",
    "profile=hf order=seq accumulation=hopper",
    "profile=late_bf16_sum order=split(2) accumulation=ampere",
    "order=seq accumulation=hopper",
    "order=seq accumulation=blackwell",
    "order=seq accumulation=ada",
    "order=seq accumulation=ampere",
    "order=seq accumulation=turing",
    "order=seq accumulation=volta",
    "order=seq accumulation=exact",
    "order=any accumulation=hopper",
    "order=warps(64,4)+tree accumulation=hopper",
    "order=warps(64,2)+tree accumulation=ampere",
    "order=split(2) accumulation=hopper",
    "order=split(3) accumulation=blackwell",
    "order=streamk(2) accumulation=hopper",
    "order=seq weight=bf16",
    "order=seq weight=bf16 accumulation=hopper",
    "order=seq dequant=fma",
    "order=seq dequant=two_roundings",
    "order=seq dequant=truncate",
    "order=seq dequant=ties_away",
    "order=seq dequant=accumulator_scale",
    "order=seq dequant=accumulator_scale accumulation=hopper",
    "order=seq dequant=exactw",
};

Case control_case(Op op, WeightFormat weights, Fill fill) {
  Case c;
  c.op = op;
  c.weights = weights;
  c.tokens = 3;
  c.experts = 4;
  c.top_k = 2;
  c.in = 128;
  c.out = 5;
  c.fill = fill;
  if (fill == Fill::kTallPairs) {  // a token holds one pair
    c.tokens = 24;
    c.in = 256;
    c.out = 1;
  }
  c.seed = 0x51 + static_cast<std::uint64_t>(fill);
  return c;
}

bool has_no_bound(const Verdict& verdict) {
  return verdict.status == VerdictStatus::kMistrusted && verdict.reason.starts_with("VER-8: no bound");
}

struct ParsedControl {
  Arithmetic computes, declares;
};

// What came of one control on one case: nothing if nothing can compute so.
struct ControlOutcome {
  bool judged = false, unbounded = false;
  std::string verdict;  // of a false alarm
};

ControlOutcome judge_control(const CaseData& data, const ParsedControl& control) {
  const ArithmeticUse use = {output_shape(data).dtype, data.op == Op::kCombine
                                                           ? std::nullopt
                                                           : std::optional<WeightFormat>(data.weights)};
  if (check_arithmetic(control.computes, use)) return {};
  ControlOutcome outcome;
  outcome.judged = true;
  Declaration declaration = healthy_declaration();
  declaration.arithmetic = control.declares;
  declaration.profile = name_of(control.declares.profile);
  const Result<Norm> result = declared_result(data, control.computes);
  if (!result.ok()) {
    outcome.verdict = result.error().message();
    return outcome;
  }
  declaration.bits_declared = !bits_undetermined(declaration);
  const Verdict verdict = judge(data, declaration, healthy_run(*result));
  if (verdict.status == VerdictStatus::kPassed) return outcome;
  outcome.unbounded = has_no_bound(verdict);
  if (!outcome.unbounded) outcome.verdict = fmt::format("{}: {}", name_of(verdict.status), verdict.reason);
  return outcome;
}

Result<std::vector<ParsedControl>> parse_controls(const std::vector<Control>& controls) {
  std::vector<ParsedControl> parsed;
  for (const Control& control : controls) {
    const Result<Arithmetic> computes = parse_arithmetic(control.computes);
    if (!computes.ok()) return computes.error();
    const Result<Arithmetic> declares = parse_arithmetic(control.declares);
    if (!declares.ok()) return declares.error();
    parsed.push_back({*computes, *declares});
  }
  return parsed;
}

// The kernel that faults inside of chains are planted in, without one.
void judge_chains(const Case& line, const CaseData& data, const char* order, SelftestReport& report) {
  const Result<Norm> norm = fast_norm_result(data);
  if (data.op == Op::kCombine || !norm.ok()) return;
  ++report.controls;
  const Scene scene(data, *norm, Key::from_seed(0));
  ChainKernel kernel;
  kernel.order = parse_order(order).value();
  Declaration declaration = healthy_declaration();
  declaration.arithmetic.order = kernel.order;
  declaration.bits_declared = true;
  SubjectRun run = healthy_run(*norm);
  run_chains(scene, kernel, run);
  const Verdict verdict = judge(data, declaration, run);
  if (verdict.status == VerdictStatus::kPassed) return;
  report.alarms.push_back({line, std::string("chains of ") + order,
                           fmt::format("{}: {}", name_of(verdict.status), verdict.reason)});
}

void run_on(const Case& line, const SelftestOptions& options, const std::vector<ParsedControl>& controls,
            SelftestReport& report) {
  if (options.progress) options.progress("healthy: " + to_string(line));
  const Result<CaseData> data = generate(line);
  if (!data.ok()) {
    report.alarms.push_back({line, "", data.error().message()});
    return;
  }
  std::vector<ControlOutcome> outcomes(controls.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t n = 0; n < controls.size(); ++n) outcomes[n] = judge_control(*data, controls[n]);
  if (options.plant) {
    for (const char* order : {"groups(32)", "lanes(32,8)+shfl"}) judge_chains(line, *data, order, report);
  }
  for (std::size_t n = 0; n < controls.size(); ++n) {
    report.controls += outcomes[n].judged ? 1 : 0;
    report.unbounded += outcomes[n].unbounded ? 1 : 0;
    if (outcomes[n].verdict.empty()) continue;
    const auto& [computes, declares] = options.controls[n];
    const std::string who = computes == declares ? computes : computes + ", declared as " + declares;
    report.alarms.push_back({line, who, outcomes[n].verdict});
  }
}

}  // namespace

Result<Control> parse_control(std::string_view text) {
  constexpr std::string_view kAs = " as ";
  const std::size_t at = text.find(kAs);
  const std::string computes(text.substr(0, at));
  const Control control{computes,
                        at == std::string_view::npos ? computes : std::string(text.substr(at + kAs.size()))};
  for (const std::string& words : {control.computes, control.declares}) {
    const Result<Arithmetic> arithmetic = parse_arithmetic(words);
    if (!arithmetic.ok()) return arithmetic.error();
  }
  return control;
}

std::vector<Control> healthy_controls() {
  std::vector<Control> controls;
  for (const char* text : kArithmetics) controls.push_back({text, text});
  return controls;
}

void run_controls(const SelftestOptions& options, SelftestReport& report) {
  const Result<std::vector<ParsedControl>> controls = parse_controls(options.controls);
  if (!controls.ok()) {
    report.alarms.push_back({Case{}, "", controls.error().message()});
    return;
  }
  if (controls->empty()) return;
  if (!options.plant && !options.cases.empty()) {
    for (const Case& line : options.cases) run_on(line, options, *controls, report);
    return;
  }
  for (const Op op : all_ops()) {
    for (const WeightFormat weights : {WeightFormat::kMxfp4, WeightFormat::kInt4}) {
      for (const Fill fill : all_fills()) {
        run_on(control_case(op, weights, fill), options, *controls, report);
      }
    }
  }
  // A wider layer, where chains are long.
  for (const Fill fill : {Fill::kReal, Fill::kSlabCancel, Fill::kTallPairs}) {
    Case wide = control_case(Op::kIndexed, WeightFormat::kInt4, fill);
    wide.in = 2048;
    run_on(wide, options, *controls, report);
  }
}

}  // namespace moe4::oracle
