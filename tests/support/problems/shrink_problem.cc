#include "tests/support/problems/shrink_problem.h"

#include <algorithm>

#include "tests/support/problems/keep.h"

namespace problems {
namespace {

using slow_model::Layer;
using slow_model::Problem;
using Indices = std::vector<std::int64_t>;

std::int64_t count(const Indices& indices) { return static_cast<std::int64_t>(indices.size()); }

void add_smaller(const Problem& problem, std::vector<Problem>& result) {
  for (std::int64_t t = 0; t < problem.tokens && problem.tokens > 1; ++t) {
    result.push_back(keep_tokens(problem, all_but(problem.tokens, t)));
  }
  for (std::int64_t o = 0; o < problem.out && problem.out > 1; ++o) {
    result.push_back(keep_outputs(problem, all_but(problem.out, o)));
  }
  for (std::int64_t slot = 0; slot < problem.top_k; ++slot) {
    result.push_back(keep_slots(problem, all_but(problem.top_k, slot)));
  }
  for (std::int64_t g = 0; g < problem.groups && problem.groups > 1; ++g) {
    result.push_back(keep_groups(problem, all_but(problem.groups, g)));
  }
  const Indices& ids = problem.selected_experts;
  for (std::int64_t e = 0; e < problem.experts && problem.experts > 1; ++e) {
    if (std::find(ids.begin(), ids.end(), e) == ids.end()) {
      result.push_back(keep_experts(problem, all_but(problem.experts, e)));
    }
  }
}

template <class T>
void add_with_element(const Problem& problem, std::vector<T> Problem::*tensor, std::size_t n, T plain,
                      std::vector<Problem>& result) {
  if ((problem.*tensor)[n] != plain) {
    result.push_back(problem);
    (result.back().*tensor)[n] = plain;
  }
}

// Each float element to +0, or from another value to 1.
void add_with_float(const Problem& problem, slow_model::FloatTensor Problem::*tensor,
                    std::vector<Problem>& result) {
  const slow_model::FloatTensor& floats = problem.*tensor;
  for (std::size_t n = 0; n < floats.bits.size(); ++n) {
    for (const std::uint64_t plain : {std::uint64_t{0}, floats.format.one()}) {
      if (floats.bits[n] == 0 || floats.bits[n] == plain) continue;
      result.push_back(problem);
      (result.back().*tensor).bits[n] = plain;
    }
  }
}

}  // namespace

Problem keep_tokens(const Problem& problem, const Indices& tokens) {
  Problem result = problem;
  result.tokens = count(tokens);
  result.latent_tokens.bits = keep(problem.latent_tokens.bits, 1, problem.tokens, problem.in(), tokens);
  result.selected_experts = keep(problem.selected_experts, 1, problem.tokens, problem.top_k, tokens);
  result.mixture_weights.bits = keep(problem.mixture_weights.bits, 1, problem.tokens, problem.top_k, tokens);
  result.shared_output.bits = keep(problem.shared_output.bits, 1, problem.tokens, problem.out, tokens);
  return result;
}

Problem keep_slots(const Problem& problem, const Indices& slots) {
  Problem result = problem;
  result.top_k = count(slots);
  result.selected_experts = keep(problem.selected_experts, problem.tokens, problem.top_k, 1, slots);
  result.mixture_weights.bits = keep(problem.mixture_weights.bits, problem.tokens, problem.top_k, 1, slots);
  return result;
}

void keep_layer_outputs(const Layer& layer, const Indices& outputs, Layer& result) {
  result.out = count(outputs);
  result.packed_weights = keep(layer.packed_weights, layer.experts, layer.out, layer.row_bytes(), outputs);
  result.scale_bytes = keep(layer.scale_bytes, layer.experts, layer.out, layer.groups, outputs);
  result.packed_words = keep(layer.packed_words, layer.experts, layer.out, layer.row_words(), outputs);
  result.scales = keep(layer.scales, layer.experts, layer.out, layer.groups, outputs);
}

void keep_layer_groups(const Layer& layer, const Indices& groups, Layer& result) {
  const std::int64_t rows = layer.experts * layer.out;
  result.groups = count(groups);
  result.packed_weights = keep(layer.packed_weights, rows, layer.groups, 16, groups);
  result.scale_bytes = keep(layer.scale_bytes, rows, layer.groups, 1, groups);
  result.packed_words = keep(layer.packed_words, rows, layer.groups, 4, groups);
  result.scales = keep(layer.scales, rows, layer.groups, 1, groups);
}

Problem keep_outputs(const Problem& problem, const Indices& outputs) {
  Problem result = problem;
  keep_layer_outputs(problem, outputs, result);
  result.shared_output.bits = keep(problem.shared_output.bits, problem.tokens, problem.out, 1, outputs);
  return result;
}

Problem keep_groups(const Problem& problem, const Indices& groups) {
  Problem result = problem;
  result.latent_tokens.bits = keep(problem.latent_tokens.bits, problem.tokens, problem.groups, 32, groups);
  keep_layer_groups(problem, groups, result);
  return result;
}

Problem keep_experts(const Problem& problem, const Indices& experts) {
  Problem result = problem;
  result.experts = count(experts);
  result.packed_weights =
      keep(problem.packed_weights, 1, problem.experts, problem.out * problem.row_bytes(), experts);
  result.scale_bytes = keep(problem.scale_bytes, 1, problem.experts, problem.out * problem.groups, experts);
  result.packed_words =
      keep(problem.packed_words, 1, problem.experts, problem.out * problem.row_words(), experts);
  result.scales = keep(problem.scales, 1, problem.experts, problem.out * problem.groups, experts);
  for (std::int64_t& id : result.selected_experts) {
    if (id >= 0) {
      id = std::find(experts.begin(), experts.end(), id) - experts.begin();
    }
  }
  return result;
}

std::vector<Problem> shrinks(const Problem& problem) {
  std::vector<Problem> result;
  add_smaller(problem, result);
  for (std::size_t n = 0; n < problem.scale_bytes.size(); ++n) {
    add_with_element<std::uint8_t>(problem, &Problem::scale_bytes, n, 127, result);
  }
  for (std::size_t n = 0; n < problem.scales.size(); ++n) {
    add_with_element<std::uint16_t>(problem, &Problem::scales, n, 0x3F80, result);
  }
  add_with_float(problem, &Problem::shared_output, result);
  add_with_float(problem, &Problem::mixture_weights, result);
  add_with_float(problem, &Problem::latent_tokens, result);
  for (std::size_t n = 0; n < problem.packed_weights.size(); ++n) {
    add_with_element<std::uint8_t>(problem, &Problem::packed_weights, n, 0, result);
  }
  for (std::size_t n = 0; n < problem.packed_words.size(); ++n) {
    add_with_element<std::uint32_t>(problem, &Problem::packed_words, n, 0x88888888, result);
  }
  return result;
}

}  // namespace problems
