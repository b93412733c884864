#include "tests/support/slow_model/contract_validity.h"

#include <algorithm>
#include <limits>
#include <set>

namespace slow_model {
namespace {

using Op = ContractCall::Op;
using Shape = std::vector<std::int64_t>;

struct Expected {
  std::vector<std::size_t> ranks;
  std::vector<std::string> dtypes;
};

Broken broken(const char* rule, const char* name = "") { return {rule, name, -1}; }

const std::vector<std::string> kFloats = {"BF16", "F16", "F32", "F64"};

Expected expected_of(const ContractCall& call, const std::string& name) {
  const bool int4 = call.weights == WeightFormat::kInt4;
  const bool masked = call.op == Op::kGroupedMasked;
  if (name == "latent_tokens")
    return {masked ? std::vector<std::size_t>{2, 3} : std::vector<std::size_t>{2}, {"BF16"}};
  if (name == "packed_weights") return {{int4 ? std::size_t{3} : std::size_t{4}}, {int4 ? "I32" : "U8"}};
  if (name == "scale_bytes") return {{3}, {"U8"}};
  if (name == "scales") return {{3}, {"BF16"}};
  if (name == "num_tokens_padded") return {{0, 1}, {"I32"}};
  if (name == "rows") return {{2}, {"BF16"}};
  if (name == "mixture_weights" || name == "shared_output") return {{2}, kFloats};
  if (name == "selected_experts") return {{2}, {"I32", "I64"}};
  return {{1}, {"I32"}};  // sorted_ids, expert_ids, m_indices, masked_m
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

const TensorDescription* field(const ContractCall& call, const std::string& name) {
  for (const ContractCall::Field& f : call.inputs) {
    if (f.name == name) return &f.tensor;
  }
  return nullptr;
}

// a * b, or -1 if it is above 2^62 or one of them is negative: no shape has such a dimension.
std::int64_t times(std::int64_t a, std::int64_t b) {
  return a < 0 || b < 0 || above_2_62({a, b}) ? -1 : a * b;
}

bool weights_agree(const ContractCall& call, std::int64_t in) {
  const bool int4 = call.weights == WeightFormat::kInt4;
  const Shape& packed = field(call, "packed_weights")->shape;
  const Shape expected =
      int4 ? Shape{packed[0], packed[1], in / 8} : Shape{packed[0], packed[1], in / 32, 16};
  const TensorDescription* scales = field(call, int4 ? "scales" : "scale_bytes");
  return packed == expected && scales->shape == Shape{packed[0], packed[1], in / 32};
}

// VAL-4 (RTE-11). The sizes are those of the tables of routing.md.
bool shapes_agree(const ContractCall& call, bool with_output) {
  const Shape& output = call.output.shape;
  const auto output_is = [&](const Shape& shape) { return !with_output || output == shape; };
  if (call.op == Op::kCombine) {
    const Shape& mixture = field(call, "mixture_weights")->shape;
    const Shape& rows = field(call, "rows")->shape;
    const TensorDescription* ids = field(call, "selected_experts");
    const Shape by_token{mixture[0], rows[1]};
    return rows[0] == times(mixture[0], mixture[1]) && (ids == nullptr || ids->shape == mixture) &&
           field(call, "shared_output")->shape == by_token && output_is(by_token);
  }
  const Shape& tokens = field(call, "latent_tokens")->shape;
  const std::int64_t in = tokens.back();
  const std::int64_t experts = field(call, "packed_weights")->shape[0];
  const std::int64_t out = field(call, "packed_weights")->shape[1];
  if (!weights_agree(call, in)) return false;
  if (call.op == Op::kIndexed) {
    const Shape& n = field(call, "num_tokens_padded")->shape;
    return (n.empty() || n == Shape{1}) &&
           output_is({times(tokens[0], std::max<std::int64_t>(0, call.top_k)), out});
  }
  if (call.op == Op::kGroupedContiguous) {
    return field(call, "m_indices")->shape == Shape{tokens[0]} && output_is({tokens[0], out});
  }
  std::int64_t max_m = 0;
  if (tokens.size() == 3) {
    if (tokens[0] != experts) return false;
    max_m = tokens[1];
  } else if (experts == 0) {
    if (tokens[0] != 0) return false;
  } else if (tokens[0] % experts != 0) {
    return false;
  } else {
    max_m = tokens[0] / experts;
  }
  return field(call, "masked_m")->shape == Shape{experts} &&
         (output_is({experts, max_m, out}) || output_is({times(experts, max_m), out}));
}

// RTE-7.
Broken broken_indexed(const ContractCall& call) {
  const std::int64_t rows = times(field(call, "latent_tokens")->shape[0], call.top_k);
  const std::int64_t experts = field(call, "packed_weights")->shape[0];
  const std::int64_t n = call.num_tokens_padded;
  if (call.top_k < 1) return broken("RTE-7", "top_k");
  if (call.block_m < 1) return broken("RTE-7", "block_m");
  if (call.valid_shape_m < 0) return broken("RTE-7", "valid_shape_m");
  if (rows < 0 || rows > std::numeric_limits<std::int32_t>::max()) return broken("RTE-7", "");
  if (n < 0) return broken("RTE-7", "num_tokens_padded");
  if (n > field(call, "sorted_ids")->shape[0]) return broken("RTE-7", "");
  std::int64_t blocks = n / call.block_m;
  if (n % call.block_m != 0) ++blocks;
  if (field(call, "expert_ids")->shape[0] < blocks) return broken("RTE-7", "");
  std::set<std::int64_t> named;
  for (std::int64_t r = 0; r < n; ++r) {
    const std::int64_t id = call.routing[static_cast<std::size_t>(r)];
    if (id < 0) return {"RTE-7", "sorted_ids", r};
    if (id >= rows) continue;
    if (!named.insert(id).second) return {"RTE-7", "sorted_ids", r};
    const std::int64_t expert = call.expert_ids[static_cast<std::size_t>(r / call.block_m)];
    if (expert < 0 || expert >= experts) return {"RTE-7", "expert_ids", r / call.block_m};
  }
  return {};
}

Broken broken_routing(const ContractCall& call) {
  const auto first = [&](const char* rule, const char* name, std::int64_t low, std::int64_t high) -> Broken {
    for (std::size_t at = 0; at < call.routing.size(); ++at) {
      if (call.routing[at] < low || call.routing[at] > high)
        return {rule, name, static_cast<std::int64_t>(at)};
    }
    return {};
  };
  switch (call.op) {
    case Op::kIndexed:
      return broken_indexed(call);
    case Op::kGroupedContiguous:
      return first("RTE-9", "m_indices", -1, field(call, "packed_weights")->shape[0] - 1);
    case Op::kGroupedMasked: {
      if (call.expected_m < 1) return broken("RTE-12", "expected_m");
      const Shape& tokens = field(call, "latent_tokens")->shape;
      const std::int64_t experts = field(call, "packed_weights")->shape[0];
      if (experts == 0) return {};
      return first("RTE-12", "masked_m", 0, tokens.size() == 3 ? tokens[1] : tokens[0] / experts);
    }
    case Op::kCombine:
      return first("RTE-15", "selected_experts", -1, std::numeric_limits<std::int64_t>::max());
  }
  return {};
}

// RTE-16: the output that a function without one allocates.
TensorDescription allocated(const ContractCall& call) {
  if (call.op == Op::kCombine) return {"F64", {}, {}, 0};
  const Shape& tokens = field(call, "latent_tokens")->shape;
  const std::int64_t out = field(call, "packed_weights")->shape[1];
  Shape shape(tokens.begin(), tokens.end() - 1);
  shape.push_back(out);
  if (call.op == Op::kIndexed) shape.insert(shape.begin(), std::max<std::int64_t>(0, call.top_k));
  return {"BF16", shape, {}, 0};
}

}  // namespace

Broken first_broken(const ContractCall& call, bool with_output) {
  for (const ContractCall::Field& f : call.inputs) {
    if (!contains(expected_of(call, f.name).ranks, f.tensor.shape.size())) return broken("VAL-1");
  }
  for (const ContractCall::Field& f : call.inputs) {
    if (!contains(expected_of(call, f.name).dtypes, f.tensor.dtype)) return broken("VAL-2");
  }
  if (call.op != Op::kCombine) {
    const std::int64_t in = field(call, "latent_tokens")->shape.back();
    if (in < 32 || in % 32 != 0) return broken("VAL-3");
  }
  if (!shapes_agree(call, with_output)) return broken("VAL-4");
  const std::vector<std::string> dtypes =
      call.op == Op::kCombine ? kFloats : std::vector<std::string>{"BF16"};
  if (with_output && (!contains(dtypes, call.output.dtype) || !call.output.strides.empty()))
    return broken("VAL-5");
  for (const ContractCall::Field& f : call.inputs) {
    if (breaks_val_6(f.tensor)) return broken("VAL-6");
  }
  if (breaks_val_6(with_output ? call.output : allocated(call))) return broken("VAL-6");
  for (const ContractCall::Field& f : call.inputs) {
    if (with_output && spans_overlap(f.tensor, call.output)) return broken("VAL-7");
  }
  for (const ContractCall::Field& f : call.inputs) {
    if (breaks_val_9(f.tensor)) return broken("VAL-9");
  }
  if (with_output && breaks_val_9(call.output)) return broken("VAL-9");
  return broken_routing(call);
}

}  // namespace slow_model
