#include "tests/support/slow_model/rows.h"

namespace slow_model {
namespace {

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

std::int64_t Rows::active(const RowsProblem& problem) const { return problem.num_tokens_padded; }

std::int64_t Rows::row_of_id(const RowsProblem& problem, std::int64_t id) const {
  return id >= problem.token_rows * problem.top_k ? -1 : id;
}

std::int64_t Rows::block_of(const RowsProblem& problem, std::int64_t position) const {
  return position / problem.block_m;
}

std::int64_t Rows::source_of(const RowsProblem& problem, std::int64_t id) const { return id / problem.top_k; }

std::vector<RoutedRow> Rows::indexed(const RowsProblem& problem) const {
  std::vector<RoutedRow> result;
  for (std::int64_t r = 0; r < active(problem); ++r) {
    const std::int64_t id = problem.sorted_ids[index(r)];
    const std::int64_t row = row_of_id(problem, id);
    if (row >= 0) {
      const std::int64_t expert = problem.expert_ids[index(block_of(problem, r))];
      result.push_back({row, expert, source_of(problem, id)});
    }
  }
  return result;
}

std::int64_t Rows::expert_of_row(const RowsProblem& problem, std::int64_t row) const {
  return problem.m_indices[index(row)];
}

std::int64_t Rows::used_rows(const RowsProblem& problem, std::int64_t expert) const {
  return problem.masked_m[index(expert)];
}

std::int64_t Rows::first_row(const RowsProblem& problem, std::int64_t expert) const {
  return expert * problem.max_m;
}

std::vector<RoutedRow> Rows::routed_rows(const RowsProblem& problem) const {
  std::vector<RoutedRow> result;
  switch (problem.op) {
    case RowsOp::kIndexed:
      return indexed(problem);
    case RowsOp::kGroupedContiguous:
      for (std::int64_t r = 0; r < problem.rows(); ++r) {
        const std::int64_t expert = expert_of_row(problem, r);
        if (expert >= 0) result.push_back({r, expert, r});
      }
      return result;
    case RowsOp::kGroupedMasked:
      for (std::int64_t e = 0; e < problem.experts; ++e) {
        for (std::int64_t r = 0; r < used_rows(problem, e); ++r) {
          const std::int64_t row = first_row(problem, e) + r;
          result.push_back({row, e, row});
        }
      }
      return result;
  }
  return result;
}

std::int64_t Rows::summed_width(const RowsProblem& problem) const { return problem.in(); }

Extended Rows::row(const RowsProblem& problem, const RoutedRow& routed, std::int64_t o) const {
  Extended sum;
  for (std::int64_t i = 0; i < summed_width(problem); ++i) {
    const std::uint64_t x = problem.latent_tokens[index(routed.source * problem.in() + i)];
    sum = sum + weight_at(problem, routed.expert, o, i) * value_of(kBf16, x);
  }
  return sum;
}

std::uint64_t Rows::rounded(const Extended& exact) const {
  if (exact.is_nan()) {
    return kBf16.canonical_nan();
  }
  if (exact.is_infinite()) {
    return exact.negative ? kBf16.infinity() | kBf16.sign_bit() : kBf16.infinity();
  }
  return round_to_nearest_even(kBf16, exact.value);  // of zero +0 (RTE-1)
}

std::uint64_t Rows::left_alone(std::uint64_t before) const { return before; }

std::uint8_t Rows::written(const RowsProblem&, bool named) const { return named ? 1 : 0; }

RowsOutcome Rows::outputs(const RowsProblem& problem, std::uint64_t before) const {
  RowsOutcome result;
  result.output.assign(index(problem.rows() * problem.out), left_alone(before));
  result.written.assign(index(problem.rows()), written(problem, false));
  for (const RoutedRow& routed : routed_rows(problem)) {
    result.written[index(routed.row)] = written(problem, true);
    for (std::int64_t o = 0; o < problem.out; ++o) {
      result.output[index(routed.row * problem.out + o)] = rounded(row(problem, routed, o));
    }
  }
  return result;
}

}  // namespace slow_model
