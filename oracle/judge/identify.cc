#include "oracle/judge/identify.h"

#include <fmt/format.h>

#include <vector>

#include "oracle/case/output_rows.h"
#include "oracle/judge/due.h"

namespace moe4::oracle {
namespace {

constexpr double kTelling = 0.5;

std::vector<Arithmetic> others(const Declaration& declaration, const CaseData& data) {
  Arithmetic base = declaration.arithmetic;
  if (base.order.kind == Order::Kind::kAny) base.order.kind = Order::Kind::kSeq;
  std::vector<Arithmetic> list;
  const auto add = [&](auto change) {
    Arithmetic a = base;
    change(a);
    const ArithmeticUse use = {output_shape(data).dtype, data.op == Op::kCombine
                                                             ? std::nullopt
                                                             : std::optional<WeightFormat>(data.weights)};
    if (a != declaration.arithmetic && !check_arithmetic(a, use)) list.push_back(a);
  };
  for (const RoundingProfile profile :
       {RoundingProfile::kOnce, RoundingProfile::kLate, RoundingProfile::kLateBf16Sum, RoundingProfile::kHf,
        RoundingProfile::kEarly}) {
    add([&](Arithmetic& a) { a.profile = profile; });
  }
  for (const Int4OrderInfo& info : int4_orders()) {
    add([&](Arithmetic& a) { a.dequant = info.order; });
  }
  add([](Arithmetic& a) { a.weight = WeightOperand::kBf16; });
  add([](Arithmetic& a) { a.weight = WeightOperand::kExact; });
  add([](Arithmetic& a) { a.ftz = !a.ftz; });
  return list;
}

}  // namespace

std::vector<Identified> identify(const CaseData& data, const Declaration& declaration, const Tensor& output) {
  std::vector<Identified> found;
  if (output.elements() != output_shape(data).rows * output_shape(data).out) return found;
  for (const Arithmetic& arithmetic : others(declaration, data)) {
    const Result<Due> due = interval_due(data, arithmetic);
    if (!due.ok()) continue;
    const Comparison compared = compare(output, *due, {false, !declaration.nonfinite_ieee});
    if (!compared.wrong.empty() || compared.outputs == 0) continue;
    const double share = static_cast<double>(compared.singletons) / static_cast<double>(compared.outputs);
    if (share >= kTelling) found.push_back({arithmetic, share});
  }
  return found;
}

std::string identification(const CaseData& data, const Declaration& declaration, const Tensor& output) {
  std::string words;
  for (const Identified& one : identify(data, declaration, output)) {
    words += fmt::format("{}{} ({:.0f} % of the outputs have one right value under it)",
                         words.empty() ? "" : " or ", to_string(one.arithmetic), 100 * one.singleton_share);
  }
  if (words.empty()) return "no other profile, weight operand or dequantisation explains the result";
  return "the result follows " + words + "; if that is what the kernel does, declare it";
}

}  // namespace moe4::oracle
