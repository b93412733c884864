// Weights: their values, and the layouts of docs/spec/layouts.md.
#include <nanobind/stl/optional.h>

#include "oracle/file/layout_file.h"
#include "oracle/python/bindings.h"
#include "oracle/python/errors.h"
#include "oracle/python/views.h"
#include "reference/arithmetic/round.h"
#include "reference/linear/checks.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

// [E,O,I] in `dtype`, in which every weight is exact: BF16 for INT4 (INT-4); F64 for MXFP4, whose weights
// reach beyond F32 (FMT-5).
Tensor values_of(const ExpertWeights& weights, Dtype dtype, const Policy& policy) {
  const bool int4 = weights.format == WeightFormat::kInt4;
  const std::array<Field, 2> fields = {packed_field(weights), scales_field(weights)};
  check(check_ranks(fields));
  check(check_dtypes(fields));
  const TensorView& packed = weights.packed_weights;
  const std::int64_t groups = int4 ? packed.dim(2) / 4 : packed.dim(2);
  if (int4) check(check_width(packed.dim(2) * 8));
  check(check_weight_shapes(weights, groups * 32));
  check(check_pointers(fields));
  Tensor values(dtype, {packed.dim(0), packed.dim(1), groups * 32});
  const WeightReader reader(weights, policy);
  std::byte* to = values.data();
  for (std::int64_t e = 0; e < packed.dim(0); ++e) {
    for (std::int64_t o = 0; o < packed.dim(1); ++o) {
      for (std::int64_t g = 0; g < groups; ++g) {
        const WeightGroup group = reader.group(e, o, g);
        for (int i = 0; i < kGroupSize; ++i, to += size_of(dtype)) {
          const std::uint64_t bits = round_to(format_of(dtype), group[i]);
          std::memcpy(to, &bits, size_of(dtype));
        }
      }
    }
  }
  return values;
}

nb::tuple int4_values(const View& packed, const View& scales) {
  const ExpertWeights weights = ExpertWeights::int4(packed.tensor(), scales.tensor());
  return to_python(without_gil([&] { return values_of(weights, Dtype::kBF16, {}); }));
}

nb::tuple mxfp4_values(const View& packed, const View& scales, const std::string& policy_words) {
  const Policy policy = take(parse_policy(policy_words));
  const ExpertWeights weights = ExpertWeights::mxfp4(packed.tensor(), scales.tensor());
  return to_python(without_gil([&] { return values_of(weights, Dtype::kF64, policy); }));
}

nb::list layouts() {
  nb::list all;
  for (const WeightLayout* layout : weight_layouts()) {
    nb::dict one;
    one["name"] = std::string(layout->name);
    one["weights"] = std::string(layout->weights);
    one["description"] = std::string(layout->description);
    one["out_multiple"] = layout->out_multiple;
    one["in_multiple"] = layout->in_multiple;
    all.append(one);
  }
  return all;
}

// Layouts move bytes; they read contiguous tensors only.
Tensor contiguous(const View& view) { return copy_of(view.tensor()); }

// from, to: names of layouts; "" is the one of case files. An empty scales: the scales lie among the codes.
nb::tuple repacked(const std::string& from_name, const std::string& to_name, const View& codes,
                   const std::optional<View>& scales) {
  const WeightLayout* from = from_name.empty() ? nullptr : take(oracle::layout_named(from_name));
  const WeightLayout* to = to_name.empty() ? nullptr : take(oracle::layout_named(to_name));
  if (from == nullptr) from = logical_layout(to->weights);
  if (to == nullptr) to = logical_layout(from->weights);
  WeightTensors given{contiguous(codes), scales ? contiguous(*scales) : Tensor()};
  WeightTensors made = take(without_gil([&] { return repack(*from, *to, given.views()); }));
  nb::object scales_out = nb::none();
  if (!to->scales_among_codes()) scales_out = to_python(std::move(made.scales));
  return nb::make_tuple(to_python(std::move(made.codes)), scales_out);
}

}  // namespace

void bind_weights(nb::module_& m) {
  m.def("int4_values", &int4_values);
  m.def("mxfp4_values", &mxfp4_values);
  m.def("layouts", &layouts);
  m.def("repack", &repacked, nb::arg("source"), nb::arg("target"), nb::arg("codes"),
        nb::arg("scales").none());
}

}  // namespace moe4::python
