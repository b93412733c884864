// What the serving contracts refuse, and by which rule: the reference against the slow model's predicate, on
// drawn calls with one or two drawn edits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "tests/support/problems/draw_combine.h"
#include "tests/support/problems/draw_rows.h"
#include "tests/support/reference_call/contract_call.h"
#include "tests/support/reference_call/reference_call.h"
#include "tests/support/slow_model/contract_validity.h"

namespace differential {
namespace {

using moe4::Dtype;
using moe4::Shape;
using moe4::TensorView;
using problems::Draw;
using slow_model::Broken;
using slow_model::ContractCall;
using Op = ContractCall::Op;

constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max();

// A call that can be bent: views into memory that lives beside it, eight bytes an element, so that a view of
// any dtype stays inside.
struct OpenCall {
  ContractCall described;  // op, weights, numbers and routing values
  std::vector<TensorView> fields;
  moe4::MutableTensorView out;
  std::vector<std::vector<std::uint64_t>> owned;
  std::vector<std::uint64_t> output;

  TensorView& field(const std::string& name) {
    for (std::size_t n = 0; n < fields.size(); ++n) {
      if (described.inputs[n].name == name) return fields[n];
    }
    return fields.front();
  }
};

void add(OpenCall& call, const char* name, const moe4::Tensor& tensor) {
  call.described.inputs.push_back({name, {}});
  std::vector<std::uint64_t>& memory = call.owned.emplace_back(static_cast<std::size_t>(tensor.elements()));
  TensorView view = tensor.view();
  view.data = nullptr;  // VAL-9 allows it where there is no element
  if (tensor.elements() > 0) {
    std::memcpy(memory.data(), tensor.data(), tensor.bytes());
    view.data = memory.data();
  }
  call.fields.push_back(std::move(view));
}

void finish(OpenCall& call, Dtype dtype, Shape shape) {
  call.output.assign(static_cast<std::size_t>(*moe4::element_count(shape)), 0xA5A5A5A5A5A5A5A5);
  call.out = {dtype, std::move(shape), call.output.empty() ? nullptr : call.output.data()};
}

std::vector<std::int64_t> widen(const std::vector<std::int32_t>& values) {
  return {values.begin(), values.end()};
}

OpenCall open_rows(const slow_model::RowsProblem& problem) {
  reference_call::RowsTensors tensors(problem);
  OpenCall call;
  call.described.op = static_cast<Op>(problem.op);
  call.described.weights = problem.weights;
  add(call, "latent_tokens", tensors.latent_tokens);
  add(call, "packed_weights", tensors.packed_weights);
  add(call, problem.weights == slow_model::WeightFormat::kInt4 ? "scales" : "scale_bytes", tensors.scales);
  const bool flat = problem.flat_output || call.described.op != Op::kGroupedMasked;
  switch (problem.op) {
    case slow_model::RowsOp::kIndexed:
      add(call, "sorted_ids", tensors.sorted_ids);
      add(call, "expert_ids", tensors.expert_ids);
      add(call, "num_tokens_padded", tensors.num_tokens_padded);
      call.described.routing = widen(problem.sorted_ids);
      break;
    case slow_model::RowsOp::kGroupedContiguous:
      add(call, "m_indices", tensors.sorted_ids);
      call.described.routing = widen(problem.m_indices);
      break;
    case slow_model::RowsOp::kGroupedMasked:
      add(call, "masked_m", tensors.sorted_ids);
      call.described.routing = widen(problem.masked_m);
      break;
  }
  call.described.expert_ids = widen(problem.expert_ids);
  call.described.num_tokens_padded = problem.num_tokens_padded;
  call.described.top_k = problem.top_k;
  call.described.block_m = problem.block_m;
  call.described.valid_shape_m = problem.valid_shape_m;
  call.described.expected_m = problem.expected_m;
  finish(call, Dtype::kBF16,
         flat ? Shape{problem.rows(), problem.out} : Shape{problem.experts, problem.max_m, problem.out});
  return call;
}

OpenCall open_combine(const slow_model::CombineProblem& problem) {
  OpenCall call;
  call.described.op = Op::kCombine;
  add(call, "rows",
      reference_call::tensor_of({slow_model::kBf16, problem.rows},
                                {problem.tokens * problem.top_k, problem.out}));
  add(call, "mixture_weights",
      reference_call::tensor_of(problem.mixture_weights, {problem.tokens, problem.top_k}));
  if (problem.selected_experts) {
    moe4::Tensor ids(Dtype::kI64, {problem.tokens, problem.top_k});
    std::copy(problem.selected_experts->begin(), problem.selected_experts->end(),
              ids.as<std::int64_t>().begin());
    add(call, "selected_experts", ids);
    call.described.routing = *problem.selected_experts;
  }
  add(call, "shared_output", reference_call::tensor_of(problem.shared_output, {problem.tokens, problem.out}));
  finish(call, reference_call::dtype_of(problem.output_format), {problem.tokens, problem.out});
  return call;
}

slow_model::TensorDescription describe(const TensorView& view) {
  return {std::string(moe4::name_of(view.dtype)), view.shape, view.strides,
          reinterpret_cast<std::uintptr_t>(view.data)};
}

Broken expected(const OpenCall& call, bool with_output) {
  ContractCall described = call.described;
  for (std::size_t n = 0; n < call.fields.size(); ++n) described.inputs[n].tensor = describe(call.fields[n]);
  described.output = describe(TensorView(call.out));
  return slow_model::first_broken(described, with_output);
}

template <class T>
moe4::Status status_of(const moe4::Result<T>& result) {
  return result.ok() ? moe4::Status() : moe4::Status(result.error());
}

moe4::Status refused(OpenCall& call, bool with_output) {
  const ContractCall& d = call.described;
  if (d.op == Op::kCombine) {
    moe4::CombineInputs in{
        call.field("rows"), call.field("mixture_weights"), {}, call.field("shared_output")};
    if (call.fields.size() == 4) in.selected_experts = call.field("selected_experts");
    return with_output ? moe4::combine(in, call.out) : status_of(moe4::validate_combine(in));
  }
  const TensorView& scales = call.fields[2];
  const moe4::ExpertWeights weights = d.weights == slow_model::WeightFormat::kInt4
                                          ? moe4::ExpertWeights::int4(call.fields[1], scales)
                                          : moe4::ExpertWeights::mxfp4(call.fields[1], scales);
  switch (d.op) {
    case Op::kIndexed: {
      const moe4::IndexedInputs in{call.fields[0], weights, call.fields[3], call.fields[4],
                                   call.fields[5], d.top_k, d.block_m,      d.valid_shape_m};
      return with_output ? status_of(moe4::indexed(in, call.out)) : status_of(moe4::validate_indexed(in));
    }
    case Op::kGroupedContiguous: {
      const moe4::GroupedContiguousInputs in{call.fields[0], weights, call.fields[3]};
      return with_output ? status_of(moe4::grouped_contiguous(in, call.out))
                         : status_of(moe4::validate_grouped_contiguous(in));
    }
    default: {
      const moe4::GroupedMaskedInputs in{call.fields[0], weights, call.fields[3], d.expected_m};
      return with_output ? status_of(moe4::grouped_masked(in, call.out))
                         : status_of(moe4::validate_grouped_masked(in));
    }
  }
}

// "" if the reference refuses by the rule due, names its field and position, and has written nothing.
std::string complaint(OpenCall& call, bool with_output) {
  const Broken due = expected(call, with_output);
  const moe4::Status status = refused(call, with_output);
  const std::string by = status ? status->rule.substr(0, status->rule.find(':')) : "";
  const std::string message = status ? status->message() : "accepted";
  if (by != due.rule)
    return "the rule is '" + due.rule + "' (" + due.field + "), the reference says: " + message;
  if (!due.field.empty() && status->field != due.field) return "the field is " + due.field + ": " + message;
  std::vector<std::int64_t> places;
  if (due.at >= 0 && call.described.op == Op::kCombine) {
    const std::int64_t top_k = call.field("mixture_weights").shape[1];
    places = {due.at / top_k, due.at % top_k};
  } else if (due.at >= 0) {
    places = {due.at};
  }
  for (const std::int64_t place : places) {
    if (message.find(std::to_string(place)) == std::string::npos) {
      return "the place is " + std::to_string(place) + ": " + message;
    }
  }
  const bool untouched = std::all_of(call.output.begin(), call.output.end(),
                                     [](std::uint64_t word) { return word == 0xA5A5A5A5A5A5A5A5; });
  return status && !untouched ? "a refused call wrote output" : "";
}

void edit_shape(Draw& draw, Shape& shape) {
  if (shape.empty() || draw.one_in(5)) {
    shape.insert(shape.begin(), 1);
  } else if (draw.one_in(5)) {
    shape.pop_back();
  } else {
    std::int64_t& n = shape[draw.below(shape.size())];
    n = draw.pick<std::int64_t>({n + 1, n + 1, n - 1, n + 32, n * 2, 0, -1, std::int64_t{1} << 61, kLarge});
  }
}

Dtype draw_dtype(Draw& draw) {
  return draw.pick(
      {Dtype::kU8, Dtype::kI32, Dtype::kI64, Dtype::kBF16, Dtype::kF16, Dtype::kF32, Dtype::kF64});
}

template <class T>
void put(std::vector<std::uint64_t>& memory, std::size_t n, std::int64_t value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(reinterpret_cast<std::byte*>(memory.data()) + n * sizeof(T), &narrow, sizeof(T));
}

bool is_list(const std::string& name) {
  return name == "sorted_ids" || name == "m_indices" || name == "masked_m" || name == "selected_experts";
}

bool is_routing(const std::string& name) {
  return is_list(name) || name == "expert_ids" || name == "num_tokens_padded";
}

// One routing value, in the tensor and in its description.
void edit_routing(Draw& draw, OpenCall& call) {
  ContractCall& d = call.described;
  const std::int64_t value = draw.pick<std::int64_t>({-2, -1, 0, 1, 3, 4, 5, 8, 2147483647, -2147483648});
  const bool combine = d.op == Op::kCombine;
  std::vector<std::uint64_t>* list = nullptr;
  for (std::size_t n = 0; n < call.owned.size(); ++n) {
    const std::string& name = d.inputs[n].name;
    if (is_list(name)) list = &call.owned[n];
  }
  if (d.op == Op::kIndexed && draw.one_in(3)) {
    if (draw.one_in(2) || d.expert_ids.empty()) {
      d.num_tokens_padded = value;
      put<std::int32_t>(call.owned[5], 0, value);
      return;
    }
    const std::size_t at = draw.below(d.expert_ids.size());
    d.expert_ids[at] = value;
    put<std::int32_t>(call.owned[4], at, value);
    return;
  }
  if (list == nullptr || d.routing.empty()) return;
  const std::size_t at = draw.below(d.routing.size());
  const std::int64_t copied = d.routing[draw.below(d.routing.size())];
  d.routing[at] = draw.one_in(3) ? copied : value;
  if (combine) {
    put<std::int64_t>(*list, at, d.routing[at]);
  } else {
    put<std::int32_t>(*list, at, d.routing[at]);
  }
}

void edit(Draw& draw, OpenCall& call) {
  ContractCall& d = call.described;
  const std::size_t chosen = draw.below(call.fields.size());
  TensorView& view = call.fields[chosen];
  const std::string& name = d.inputs[chosen].name;
  switch (draw.below(10)) {
    case 0:
      edit_shape(draw, view.shape);
      break;
    case 1:
      edit_shape(draw, call.out.shape);
      break;
    case 2:
      (draw.one_in(4) ? call.out.dtype : view.dtype) = draw_dtype(draw);
      break;
    case 3:
      if (draw.one_in(4)) {
        call.out.data = nullptr;
      } else {
        view.data = nullptr;
      }
      break;
    case 4:  // not of routing, whose values would no longer be those described
      if (is_routing(name)) break;
      view.strides.assign(view.rank() + draw.below(2), draw.pick<std::int64_t>({0, 0, kLarge}));
      break;
    case 5:
      call.out.data = const_cast<void*>(view.data);
      break;
    case 6:
      (draw.one_in(2) ? d.top_k : d.block_m) =
          draw.pick<std::int64_t>({-1, 0, 1, 2, std::int64_t{1} << 31, kLarge});
      break;
    case 7:
      (draw.one_in(2) ? d.valid_shape_m : d.expected_m) = draw.pick<std::int64_t>({-1, 0, 1, kLarge});
      break;
    default:
      edit_routing(draw, call);
      break;
  }
}

class ContractRefusals : public ::testing::TestWithParam<Op> {};

TEST_P(ContractRefusals, TheSameRuleFieldAndPosition) {
  std::map<std::string, int> met;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Draw draw(seed);
    const auto weights = draw.pick({slow_model::WeightFormat::kMxfp4, slow_model::WeightFormat::kInt4});
    OpenCall call =
        GetParam() == Op::kCombine
            ? open_combine(problems::draw_combine(draw))
            : open_rows(problems::draw_rows(draw, static_cast<slow_model::RowsOp>(GetParam()), weights));
    for (std::uint64_t edits = draw.pick<std::uint64_t>({1, 1, 2}); edits > 0; --edits) edit(draw, call);
    met[expected(call, true).rule] += 1;
    ASSERT_EQ(complaint(call, false), "") << "without output, seed " << seed;
    ASSERT_EQ(complaint(call, true), "") << "seed " << seed;
  }
  const std::map<Op, std::string> routing = {{Op::kIndexed, "RTE-7"},
                                             {Op::kGroupedContiguous, "RTE-9"},
                                             {Op::kGroupedMasked, "RTE-12"},
                                             {Op::kCombine, "RTE-15"}};
  for (const std::string& rule :
       {std::string(), std::string("VAL-1"), std::string("VAL-2"), std::string("VAL-4"), std::string("VAL-5"),
        std::string("VAL-6"), std::string("VAL-7"), std::string("VAL-9"), routing.at(GetParam())}) {
    EXPECT_GT(met[rule], 5) << "'" << rule << "' was hardly met";
  }
}

std::string op_name(const ::testing::TestParamInfo<Op>& instance) {
  static constexpr const char* kNames[] = {"Indexed", "GroupedContiguous", "GroupedMasked", "Combine"};
  return kNames[static_cast<int>(instance.param)];
}

INSTANTIATE_TEST_SUITE_P(Contracts, ContractRefusals,
                         ::testing::Values(Op::kIndexed, Op::kGroupedContiguous, Op::kGroupedMasked,
                                           Op::kCombine),
                         op_name);

}  // namespace
}  // namespace differential
