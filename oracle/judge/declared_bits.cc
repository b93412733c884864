#include "oracle/judge/declared_bits.h"

#include <algorithm>

#include "oracle/case/declared_outputs.h"
#include "oracle/case/norm.h"
#include "oracle/case/output_rows.h"
#include "oracle/generate/random.h"

namespace moe4::oracle {
namespace {

constexpr std::int64_t kProducts = std::int64_t{1} << 22;
constexpr std::int64_t kLeastDraws = 64;

// How many outputs are drawn: kProducts by the longest of them.
std::int64_t draws_of(const CaseData& data, const std::vector<OutputRow>& rows) {
  std::size_t slots = 1;
  for (const OutputRow& row : rows) slots = std::max(slots, row.slots.size());
  const std::int64_t products = static_cast<std::int64_t>(slots) * std::max<std::int64_t>(in_of(data), 1);
  return std::max(kLeastDraws, kProducts / products);
}

// Flat indices, ascending.
std::vector<std::int64_t> sample(const CaseData& data, const std::vector<OutputRow>& rows,
                                 std::int64_t draws) {
  const std::int64_t out = output_shape(data).out;
  const auto count = static_cast<std::int64_t>(rows.size());
  const Key root = Key::from_seed(data.line ? data.line->seed : 0)(-1);
  std::vector<std::int64_t> chosen;
  for (std::int64_t k = 0; k < draws; ++k) {
    std::int64_t n = root(k)(0).pick(count);
    std::int64_t o = root(k)(1).pick(out);
    if (k % 16 == 0) n = 0;
    if (k % 16 == 1) n = count - 1;
    if (k % 16 == 2) o = 0;
    if (k % 16 == 3) o = out - 1;
    chosen.push_back(rows[static_cast<std::size_t>(n)].row * out + o);
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

bool has_declared_bits(const OutputInterval& due) {
  return due.cls == OutputClass::kFinite && !due.may_overflow;
}

Status evaluate_all(const CaseData& data, const Arithmetic& arithmetic, DeclaredBits& to) {
  const Result<Norm> result = declared_result(data, arithmetic);
  if (!result.ok()) return result.error();
  const Encodings encodings(result->output.dtype());
  for (const std::int64_t index : to.index) to.bits.push_back(encodings.load(result->output, index));
  return {};
}

Status evaluate_sample(const CaseData& data, const Arithmetic& arithmetic, std::int64_t out,
                       DeclaredBits& to) {
  const Result<DeclaredOutputs> outputs = DeclaredOutputs::create(data, arithmetic);
  if (!outputs.ok()) return outputs.error();
  to.bits.resize(to.index.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t k = 0; k < to.index.size(); ++k) {
    to.bits[k] = outputs->output(to.index[k] / out, to.index[k] % out);
  }
  return {};
}

}  // namespace

Result<DeclaredBits> declared_bits(const CaseData& data, const Arithmetic& arithmetic, const Due& due) {
  const std::vector<OutputRow> rows = output_rows(data);
  const std::int64_t draws = draws_of(data, rows);
  const bool all = static_cast<std::int64_t>(rows.size()) * due.out <= draws;
  DeclaredBits result;
  const auto take = [&](std::int64_t index) {
    if (has_declared_bits(due.outputs[static_cast<std::size_t>(index)])) result.index.push_back(index);
  };
  if (all) {
    std::vector<std::int64_t> ascending;
    for (const OutputRow& row : rows) ascending.push_back(row.row);
    std::sort(ascending.begin(), ascending.end());
    for (const std::int64_t row : ascending) {
      for (std::int64_t o = 0; o < due.out; ++o) take(row * due.out + o);
    }
  } else {
    for (const std::int64_t index : sample(data, rows, draws)) take(index);
  }
  const Status error =
      all ? evaluate_all(data, arithmetic, result) : evaluate_sample(data, arithmetic, due.out, result);
  if (error) return *error;
  return result;
}

BitsComparison compare_bits(const Tensor& output, std::int64_t out, const DeclaredBits& due,
                            const CompareRules& rules) {
  const Encodings encodings(output.dtype());
  BitsComparison result;
  WorstMismatches worst;
  for (std::size_t k = 0; k < due.index.size(); ++k) {
    const std::int64_t index = due.index[k];
    OutputInterval y;
    y.exact = y.lo = y.hi = due.bits[k];
    const std::uint64_t got = encodings.load(output, index);
    if (is_right(encodings, y, got, rules)) continue;
    result.wrong.push_back(index);
    worst.add(mismatch(encodings, y, got, index, out));
  }
  result.worst = worst.take();
  return result;
}

}  // namespace moe4::oracle
