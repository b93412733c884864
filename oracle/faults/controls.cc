// Healthy kernels: each returns, to the bit, what its own declaration says (reference/profile). None may
// fail.
#include <fmt/format.h>

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
    "order=lanes(32,8)+shfl",
    "order=lanes(4,1)+seq",
    "order=warps(64,4)+tree",
    "order=split(2)",
    "order=split(3)",
    "order=split(2)*lanes(32,8)+shfl",
    "order=any",
    "order=seq ftz=yes",
    "order=streamk(2)",
    "order=streamk(3)",
    "profile=late order=seq",
    "profile=late_bf16_sum order=seq",
    "profile=hf order=seq",
    "profile=early order=seq",
    "profile=late order=lanes(32,8)+shfl",
    "profile=hf order=seq accumulation=hopper",
    "profile=late_bf16_sum order=split(2) accumulation=ampere",
    "order=seq accumulation=hopper",
    "order=seq accumulation=blackwell",
    "order=seq accumulation=ada",
    "order=seq accumulation=ampere",
    "order=seq accumulation=turing",
    "order=seq accumulation=volta",
    "order=seq accumulation=exact",
    "order=split(2) accumulation=hopper",
    "order=streamk(2) accumulation=hopper",
    "order=seq weight=bf16",
    "order=seq dequant=fma",
    "order=seq dequant=two_roundings",
    "order=seq dequant=truncate",
    "order=seq dequant=ties_away",
    "order=seq dequant=accumulator_scale",
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
  c.seed = 0x51 + static_cast<std::uint64_t>(fill);
  return c;
}

bool has_no_bound(const Verdict& verdict) {
  return verdict.status == VerdictStatus::kMistrusted && verdict.reason.starts_with("VER-8: no bound");
}

void judge_control(const Case& line, const CaseData& data, const Arithmetic& arithmetic,
                   SelftestReport& report) {
  const ArithmeticUse use = {output_shape(data).dtype, data.op == Op::kCombine
                                                           ? std::nullopt
                                                           : std::optional<WeightFormat>(data.weights)};
  if (check_arithmetic(arithmetic, use)) return;  // nothing computes so
  ++report.controls;
  Declaration declaration = healthy_declaration();
  declaration.arithmetic = arithmetic;
  declaration.profile = name_of(arithmetic.profile);
  const Result<Norm> result = declared_result(data, arithmetic);
  if (!result.ok()) {
    report.alarms.push_back({line, to_string(arithmetic), result.error().message()});
    return;
  }
  declaration.bits_declared = !bits_undetermined(declaration);
  const Verdict verdict = judge(data, declaration, healthy_run(*result));
  if (verdict.status == VerdictStatus::kPassed) return;
  if (has_no_bound(verdict)) {
    ++report.unbounded;
    return;
  }
  report.alarms.push_back(
      {line, to_string(arithmetic), fmt::format("{}: {}", name_of(verdict.status), verdict.reason)});
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

}  // namespace

void run_controls(const SelftestOptions& options, SelftestReport& report) {
  std::vector<Arithmetic> arithmetics;
  for (const char* text : kArithmetics) {
    const Result<Arithmetic> arithmetic = parse_arithmetic(text);
    if (arithmetic.ok()) {
      arithmetics.push_back(*arithmetic);
    } else {
      report.alarms.push_back({Case{}, text, arithmetic.error().message()});
    }
  }
  for (const Op op : all_ops()) {
    for (const WeightFormat weights : {WeightFormat::kMxfp4, WeightFormat::kInt4}) {
      for (const Fill fill : all_fills()) {
        const Case line = control_case(op, weights, fill);
        if (options.progress) options.progress("healthy: " + to_string(line));
        const Result<CaseData> data = generate(line);
        if (!data.ok()) {
          report.alarms.push_back({line, "", data.error().message()});
          continue;
        }
        for (const Arithmetic& arithmetic : arithmetics) judge_control(line, *data, arithmetic, report);
        for (const char* order : {"groups(32)", "lanes(32,8)+shfl"}) {
          judge_chains(line, *data, order, report);
        }
      }
    }
  }
}

}  // namespace moe4::oracle
