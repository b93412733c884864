#include "tests/support/problems/draw_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/support/problems/draw_bits.h"
#include "tests/support/problems/draw_layer.h"
#include "tests/support/problems/keep.h"
#include "tests/support/problems/shrink_problem.h"

namespace problems {
namespace {

using namespace slow_model;

constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kSmallest = std::numeric_limits<std::int32_t>::min();

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }
std::int32_t narrow(std::int64_t n) { return static_cast<std::int32_t>(n); }

template <class T>
void shuffle(Draw& draw, std::vector<T>& elements) {
  for (std::size_t last = elements.size(); last > 1; --last) {
    std::swap(elements[last - 1], elements[draw.below(last)]);
  }
}

std::int32_t draw_sentinel(Draw& draw, std::int64_t rows) {
  return narrow(draw.pick<std::int64_t>({rows, rows, rows, rows + 1, rows + draw.between(0, 9), kLargest}));
}

// What the capacity tail and blocks without a row may hold: never read, so anything.
std::int32_t draw_stale(Draw& draw, std::int64_t below) {
  const std::int64_t valid = below > 0 ? draw.between(0, below - 1) : 0;
  return narrow(draw.pick<std::int64_t>({valid, valid, valid, 0, -1, below, kLargest, kSmallest}));
}

// Blocks of one expert each, filled up with sentinels: what an aligner makes, but for the order.
void draw_aligned(Draw& draw, RowsProblem& problem) {
  const std::int64_t rows = problem.rows();
  std::vector<std::int32_t> experts(index(problem.experts));
  std::iota(experts.begin(), experts.end(), 0);
  std::vector<std::int32_t> expert_of(index(rows));
  const std::uint64_t absent = draw.pick<std::uint64_t>({2, 6, 1000});
  for (std::int32_t& e : expert_of) {
    e = draw.one_in(absent) ? -1 : narrow(draw.between(0, problem.experts - 1));
  }
  const bool in_order = draw.one_in(2);
  if (!in_order) shuffle(draw, experts);
  for (const std::int32_t e : experts) {
    std::vector<std::int32_t> ids;
    for (std::int64_t id = 0; id < rows; ++id) {
      if (expert_of[index(id)] == e) ids.push_back(narrow(id));
    }
    while (ids.size() % index(problem.block_m) != 0) ids.push_back(draw_sentinel(draw, rows));
    if (!in_order) shuffle(draw, ids);
    problem.sorted_ids.insert(problem.sorted_ids.end(), ids.begin(), ids.end());
    problem.expert_ids.insert(problem.expert_ids.end(), ids.size() / index(problem.block_m), e);
  }
}

// Any active positions, each the next unused row or a sentinel; n need not fill its last block.
void draw_scattered(Draw& draw, RowsProblem& problem) {
  const std::int64_t rows = problem.rows();
  std::vector<std::int32_t> unused(index(rows));
  std::iota(unused.begin(), unused.end(), 0);
  shuffle(draw, unused);
  const std::int64_t count = draw.between(0, 12);
  for (std::int64_t r = 0; r < count; ++r) {
    if (unused.empty() || problem.experts == 0 || draw.one_in(3)) {
      problem.sorted_ids.push_back(draw_sentinel(draw, rows));
    } else {
      problem.sorted_ids.push_back(unused.back());
      unused.pop_back();
    }
  }
  for (std::int64_t first = 0; first < count; first += problem.block_m) {
    const auto block = problem.sorted_ids.begin() + first;
    const bool named = std::any_of(block, block + std::min(problem.block_m, count - first),
                                   [&](std::int32_t id) { return id < rows; });
    problem.expert_ids.push_back(named ? narrow(draw.between(0, problem.experts - 1))
                                       : draw_stale(draw, problem.experts));
  }
}

void draw_indexed(Draw& draw, RowsProblem& problem) {
  problem.token_rows = draw.between(draw.one_in(12) ? 0 : 1, 4);
  problem.top_k = draw.between(1, 3);
  problem.block_m = draw.pick<std::int64_t>({1, 2, 3, 4, 8, 16});
  problem.valid_shape_m = draw.pick<std::int64_t>({0, 0, 1, 2, kLargest});
  problem.count_has_an_axis = draw.one_in(2);
  if (!draw.one_in(10)) {
    if (problem.experts > 0 && draw.one_in(2)) {
      draw_aligned(draw, problem);
    } else {
      draw_scattered(draw, problem);
    }
  }
  problem.num_tokens_padded = narrow(static_cast<std::int64_t>(problem.sorted_ids.size()));
  for (std::int64_t n = draw.pick<std::int64_t>({0, 1, 3, 8}); n > 0; --n) {
    problem.sorted_ids.push_back(draw_stale(draw, problem.rows()));
  }
  for (std::int64_t n = draw.pick<std::int64_t>({0, 1, 4}); n > 0; --n) {
    problem.expert_ids.push_back(draw_stale(draw, problem.experts));
  }
}

void draw_contiguous(Draw& draw, RowsProblem& problem) {
  problem.token_rows = draw.between(draw.one_in(12) ? 0 : 1, 8);
  const bool runs = draw.one_in(2);
  std::int64_t expert = -1;
  for (std::int64_t r = 0; r < problem.token_rows; ++r) {
    if (!runs || draw.one_in(3) || r == 0) {
      expert = problem.experts > 0 && !draw.one_in(3) ? draw.between(0, problem.experts - 1) : -1;
    }
    problem.m_indices.push_back(narrow(expert));
  }
}

void draw_masked(Draw& draw, RowsProblem& problem) {
  problem.max_m = problem.experts == 0 ? draw.between(0, 2) : draw.between(draw.one_in(12) ? 0 : 1, 4);
  problem.flat_tokens = draw.one_in(2);
  if (problem.experts == 0 && problem.flat_tokens) problem.max_m = 0;  // RTE-11
  problem.token_rows = problem.experts * problem.max_m;
  problem.expected_m = draw.pick<std::int64_t>({1, 2, 4, 100});
  problem.flat_output = draw.one_in(2);
  for (std::int64_t e = 0; e < problem.experts; ++e) {
    problem.masked_m.push_back(
        narrow(draw.pick<std::int64_t>({0, problem.max_m, draw.between(0, problem.max_m)})));
  }
}

// Every row is x_0 + x_1/2 and a little: an exact tie, or one smallest BF16 beside it.
void plant_row_ties(Draw& draw, RowsProblem& problem) {
  for (std::int64_t row = 0; row < problem.experts * problem.out; ++row) {
    if (problem.weights == WeightFormat::kInt4) {  // 1, 1/2, 1/2
      std::uint32_t& word = problem.packed_words[index(row * problem.row_words())];
      word = (word & ~0xFFFu) | 0x99A;
      problem.scales[index(row * problem.groups)] = 0x3F00;
    } else {
      problem.packed_weights[index(row * problem.row_bytes())] = 0x12;
      std::uint8_t& third = problem.packed_weights[index(row * problem.row_bytes() + 1)];
      third = static_cast<std::uint8_t>((third & 0xF0) | 1);
      problem.scale_bytes[index(row * problem.groups)] = 127;
    }
  }
  std::fill(problem.latent_tokens.begin(), problem.latent_tokens.end(), 0);
  for (std::int64_t r = 0; r < problem.token_rows; ++r) {
    const std::uint64_t n =
        draw.pick<std::uint64_t>({0, 1, kBf16.infinity() - 1, draw.below(kBf16.infinity())});
    const std::uint64_t sign = draw.one_in(2) ? kBf16.sign_bit() : 0;
    std::uint64_t* x = &problem.latent_tokens[index(r * problem.in())];
    x[0] = sign | n;
    x[1] = sign | round_to_nearest_even(kBf16, grid_point(kBf16, n + 1) - grid_point(kBf16, n));
    x[2] = draw.one_in(3) ? draw.pick({std::uint64_t{1}, kBf16.sign_bit() | 1}) : 0;
  }
}

// NaN in the rows of tokens that no written row has as its source, NaN scales in experts that none names.
void poison(RowsProblem& problem) {
  const std::vector<RoutedRow> routed = Rows().routed_rows(problem);
  for (std::int64_t r = 0; r < problem.token_rows; ++r) {
    const bool read =
        std::any_of(routed.begin(), routed.end(), [&](const RoutedRow& row) { return row.source == r; });
    if (!read) {
      std::fill_n(problem.latent_tokens.begin() + r * problem.in(), problem.in(), std::uint64_t{0xFFC1});
    }
  }
  for (std::int64_t e = 0; e < problem.experts; ++e) {
    const bool read =
        std::any_of(routed.begin(), routed.end(), [&](const RoutedRow& row) { return row.expert == e; });
    if (!read) poison_expert(problem, e);
  }
}

}  // namespace

RowsProblem draw_rows(Draw& draw, RowsOp op, WeightFormat weights) {
  RowsProblem problem;
  problem.op = op;
  problem.weights = weights;
  draw_scale_policies(draw, problem.policy);
  problem.experts = draw.between(draw.one_in(16) ? 0 : 1, 4);
  problem.groups = draw.between(1, 3);
  problem.out = draw.between(draw.one_in(16) ? 0 : 1, 3);
  const bool non_finite = draw.one_in(4);
  draw_weights(draw, problem, non_finite);
  switch (op) {
    case RowsOp::kIndexed:
      draw_indexed(draw, problem);
      break;
    case RowsOp::kGroupedContiguous:
      draw_contiguous(draw, problem);
      break;
    case RowsOp::kGroupedMasked:
      draw_masked(draw, problem);
      break;
  }
  const std::int64_t elements = problem.token_rows * problem.in();
  problem.latent_tokens = draw_floats(draw, kBf16, draw_float_mood(draw), elements);
  if (draw.one_in(4)) plant_large_pair(draw, kBf16, problem.latent_tokens, problem);
  if (draw.one_in(6)) plant_row_ties(draw, problem);
  if (draw.one_in(6)) {  // pairs that cancel
    for (std::size_t i = 0; i + 1 < problem.latent_tokens.size(); i += 2) {
      problem.latent_tokens[i + 1] = problem.latent_tokens[i] ^ kBf16.sign_bit();
    }
    for (std::uint8_t& byte : problem.packed_weights) byte = static_cast<std::uint8_t>(byte % 16 * 17);
    for (std::uint32_t& word : problem.packed_words) word = (word & 0x0F0F0F0F) * 17;
  }
  if (non_finite && draw.one_in(2) && elements > 0) {
    problem.latent_tokens[draw.below(index(elements))] = draw_non_finite(draw, kBf16);
  }
  if (draw.one_in(2)) poison(problem);
  return problem;
}

std::vector<RowsProblem> shrinks(const RowsProblem& problem) {
  std::vector<RowsProblem> result;
  const auto add = [&](const auto& edit) {
    result.push_back(problem);
    edit(result.back());
  };
  for (std::int64_t o = 0; o < problem.out && problem.out > 1; ++o) {
    add([&](RowsProblem& p) { keep_layer_outputs(problem, all_but(problem.out, o), p); });
  }
  for (std::int64_t g = 0; g < problem.groups && problem.groups > 1; ++g) {
    add([&](RowsProblem& p) {
      keep_layer_groups(problem, all_but(problem.groups, g), p);
      p.latent_tokens =
          keep(problem.latent_tokens, problem.token_rows, problem.groups, 32, all_but(problem.groups, g));
    });
  }
  for (std::size_t r = 0; r < index(problem.num_tokens_padded); ++r) {
    if (problem.sorted_ids[r] < problem.rows()) {
      add([&](RowsProblem& p) { p.sorted_ids[r] = narrow(problem.rows()); });
    }
  }
  if (problem.num_tokens_padded > 0) {
    add([&](RowsProblem& p) { p.num_tokens_padded -= 1; });
  }
  for (std::size_t r = 0; r < problem.m_indices.size(); ++r) {
    if (problem.m_indices[r] >= 0) {
      add([&](RowsProblem& p) { p.m_indices[r] = -1; });
    }
  }
  for (std::size_t e = 0; e < problem.masked_m.size(); ++e) {
    if (problem.masked_m[e] > 0) {
      add([&](RowsProblem& p) { p.masked_m[e] -= 1; });
    }
  }
  for (std::size_t n = 0; n < problem.latent_tokens.size(); ++n) {
    if (problem.latent_tokens[n] != 0) {
      add([&](RowsProblem& p) { p.latent_tokens[n] = 0; });
    }
  }
  return result;
}

}  // namespace problems
