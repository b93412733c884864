// The operations of docs/spec/linear.md, int4.md and routing.md, by the fast path: the norm's bits and
// errors.
#include <nanobind/stl/optional.h>

#include "oracle/python/bindings.h"
#include "oracle/python/errors.h"
#include "oracle/python/views.h"
#include "reference/fast/fast.h"

namespace nb = nanobind;

namespace moe4::python {
namespace {

WeightFormat format_named(const std::string& name) {
  const std::optional<WeightFormat> format = weight_format_from_name(name);
  if (!format) throw Refused{Error{"weights", name, "is mxfp4 or int4"}};
  return *format;
}

Dtype float_dtype(const std::string& name) {
  const std::optional<Dtype> dtype = dtype_from_name(name);
  if (!dtype || !is_float(*dtype)) throw Refused{Error{"dtype", name, "is bf16, f16, f32 or f64"}};
  return *dtype;
}

nb::tuple linear(const std::string& weights, const View& tokens, const View& packed, const View& scales,
                 const View& ids, const View& mixture, const View& shared, const std::string& policy_words) {
  const Policy policy = take(parse_policy(policy_words));
  const LinearInputs inputs{tokens.tensor(),
                            {format_named(weights), packed.tensor(), scales.tensor()},
                            ids.tensor(),
                            mixture.tensor(),
                            shared.tensor()};
  return to_python(take(without_gil([&] { return fast::expert_linear(inputs, policy); })));
}

nb::tuple rows_result(Result<RowsResult> result) {
  RowsResult rows = take(std::move(result));
  return nb::make_tuple(to_python(std::move(rows.output)), bytes_array(std::move(rows.written)));
}

nb::tuple indexed_rows(const std::string& weights, const View& tokens, const View& packed, const View& scales,
                       const View& sorted_ids, const View& expert_ids, const View& num_tokens_padded,
                       std::int64_t top_k, std::int64_t block_m, const std::string& policy_words) {
  const Policy policy = take(parse_policy(policy_words));
  const IndexedInputs inputs{tokens.tensor(),
                             {format_named(weights), packed.tensor(), scales.tensor()},
                             sorted_ids.tensor(),
                             expert_ids.tensor(),
                             num_tokens_padded.tensor(),
                             top_k,
                             block_m};
  return rows_result(without_gil([&] { return fast::indexed(inputs, policy); }));
}

nb::tuple contiguous(const std::string& weights, const View& tokens, const View& packed, const View& scales,
                     const View& m_indices, const std::string& policy_words) {
  const Policy policy = take(parse_policy(policy_words));
  const GroupedContiguousInputs inputs{
      tokens.tensor(), {format_named(weights), packed.tensor(), scales.tensor()}, m_indices.tensor()};
  return rows_result(without_gil([&] { return fast::grouped_contiguous(inputs, policy); }));
}

nb::tuple masked(const std::string& weights, const View& tokens, const View& packed, const View& scales,
                 const View& masked_m, std::int64_t expected_m, const std::string& policy_words) {
  const Policy policy = take(parse_policy(policy_words));
  const GroupedMaskedInputs inputs{tokens.tensor(),
                                   {format_named(weights), packed.tensor(), scales.tensor()},
                                   masked_m.tensor(),
                                   expected_m};
  return rows_result(without_gil([&] { return fast::grouped_masked(inputs, policy); }));
}

nb::tuple combined(const View& rows, const View& mixture, const std::optional<View>& ids, const View& shared,
                   const std::string& dtype, const std::string& policy_words) {
  const Policy policy = take(parse_policy(policy_words));
  CombineInputs inputs{rows.tensor(), mixture.tensor(), std::nullopt, shared.tensor()};
  if (ids) inputs.selected_experts = ids->tensor();
  const Dtype output = float_dtype(dtype);
  return to_python(take(without_gil([&] { return fast::combine(inputs, output, policy); })));
}

}  // namespace

void bind_operations(nb::module_& m) {
  m.def("expert_linear", &linear);
  m.def("indexed", &indexed_rows);
  m.def("grouped_contiguous", &contiguous);
  m.def("grouped_masked", &masked);
  m.def("combine", &combined, nb::arg("rows"), nb::arg("mixture_weights"), nb::arg("selected_experts").none(),
        nb::arg("shared_output"), nb::arg("dtype"), nb::arg("policy"));
}

}  // namespace moe4::python
