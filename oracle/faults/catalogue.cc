#include <algorithm>

#include "oracle/faults/builders.h"
#include "oracle/faults/selftest.h"
#include "oracle/judge/encodings.h"

namespace moe4::oracle {
namespace {

unsigned use_of(Op op) {
  switch (op) {
    case Op::kExpertLinear:
      return kInLinear;
    case Op::kIndexed:
      return kInIndexed;
    case Op::kGroupedContiguous:
      return kInContiguous;
    case Op::kGroupedMasked:
      return kInMasked;
    case Op::kCombine:
      return kInCombine;
  }
  return 0;
}

std::uint64_t word_of(std::string_view name) {
  Key key = Key::from_seed(0);
  for (const char c : name) key = key(static_cast<unsigned char>(c));
  return key.word();
}

// What VER-3, VER-5, VER-7 and VER-15 look at.
bool is_visible(const CaseData& data, const Norm& norm, const SubjectRun& run) {
  if (!run.inputs_unchanged || run.written != norm.written) return true;
  if (std::find(run.unwritten.begin(), run.unwritten.end(), true) != run.unwritten.end()) return true;
  const Encodings encodings(norm.output.dtype());
  const std::int64_t out = output_shape(data).out;
  for (std::int64_t k = 0; k < norm.output.elements(); ++k) {
    if (!norm.written.empty() && norm.written[static_cast<std::size_t>(k / out)] == 0) continue;
    const std::uint64_t right = output_bits(norm.output, k);
    const std::uint64_t got = output_bits(run.output, k);
    if (right == got || (encodings.is_nan(right) && encodings.is_nan(got))) continue;
    if (!encodings.is_zero(right) || !encodings.is_zero(got)) return true;
  }
  return false;
}

}  // namespace

const std::vector<Fault>& fault_catalogue() {
  static const std::vector<Fault> kFaults = [] {
    std::vector<Fault> all;
    for (auto* group : {scale_faults, code_faults, tail_faults, routing_faults, mixture_faults,
                        rounding_faults, inside_faults, offset_faults, memory_faults}) {
      for (Fault& fault : group()) all.push_back(std::move(fault));
    }
    std::stable_sort(all.begin(), all.end(), [](const Fault& a, const Fault& b) { return a.cls < b.cls; });
    return all;
  }();
  return kFaults;
}

Declaration declaration_of(const Fault& fault) {
  Declaration declaration = healthy_declaration();
  declaration.arithmetic = parse_arithmetic(fault.declared).value();
  declaration.profile = name_of(declaration.arithmetic.profile);
  declaration.bits_declared = fault.bits_declared;
  return declaration;
}

Result<Norm> healthy_result(const Fault& fault, const CaseData& data) {
  return fault.bits_declared ? declared_result(data, declaration_of(fault).arithmetic)
                             : fast_norm_result(data);
}

bool applies(const Fault& fault, Op op, WeightFormat weights) {
  if ((fault.uses & use_of(op)) == 0) return false;
  const unsigned format = weights == WeightFormat::kInt4 ? kOfInt4 : kOfMxfp4;
  return op == Op::kCombine || (fault.formats & format) != 0;
}

bool applies(const Fault& fault, const CaseData& data) {
  if (!applies(fault, data.op, data.weights)) return false;
  if (!fault.bits_declared) return true;
  if (data.line && (data.line->fill == Fill::kExact8 || data.line->fill == Fill::kExact24)) return false;
  if (!is_small(data, output_rows(data))) return false;
  const auto weights = data.op == Op::kCombine ? std::nullopt : std::optional<WeightFormat>(data.weights);
  return !check_arithmetic(declaration_of(fault).arithmetic, {output_shape(data).dtype, weights});
}

Result<Planted> plant_fault(const Fault& fault, const CaseData& data, const Norm& norm, std::uint64_t seed) {
  const std::uint64_t case_seed = data.line ? data.line->seed : 0;
  const Key key =
      Key::from_seed(seed ^ word_of(fault.name))(static_cast<std::int64_t>(case_seed & 0x7FFFFFFF));
  Scene scene(data, norm, key);
  if (fault.bits_declared) scene.declare(declaration_of(fault).arithmetic);
  return plant_fault(fault, scene);
}

Result<Planted> plant_fault(const Fault& fault, Scene& scene) {
  Planted planted;
  planted.run = healthy_run(scene.norm());
  if (Status error = fault.planting.plant(scene, planted.run)) return *error;
  planted.where = scene.where();
  planted.visible = is_visible(scene.data(), scene.norm(), planted.run);
  return planted;
}

}  // namespace moe4::oracle
