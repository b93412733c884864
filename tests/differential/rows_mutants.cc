#include <algorithm>

#include "tests/differential/contract_mutants.h"

namespace differential {
namespace {

using namespace slow_model;

std::size_t index(std::int64_t n) { return static_cast<std::size_t>(n); }

// A wrong model may reach for what is not there; a kernel that did would read something, here it reads the
// last element.
std::int64_t clamp(std::int64_t n, std::size_t size) {
  return std::clamp<std::int64_t>(n, 0, static_cast<std::int64_t>(size) - 1);
}

// indexed

// Like Rows::indexed, but nothing is taken for granted of the ids and experts met.
struct IndexedAnyhow : Rows {
  std::vector<RoutedRow> indexed(const RowsProblem& p) const override {
    std::vector<RoutedRow> result;
    for (std::int64_t r = 0; r < active(p); ++r) {
      const std::int64_t id = p.sorted_ids[index(r)];
      const std::int64_t row = id < 0 ? -1 : row_of_id(p, id);
      if (row < 0 || row >= p.rows() || p.expert_ids.empty()) continue;
      const std::int64_t expert = p.expert_ids[index(clamp(block_of(p, r), p.expert_ids.size()))];
      if (expert >= 0 && expert < p.experts) result.push_back({row, expert, source_of(p, id)});
    }
    return result;
  }
  std::int64_t source_of(const RowsProblem& p, std::int64_t id) const override {
    return clamp(Rows::source_of(p, id), index(p.token_rows));
  }
};

struct CapacityTailRead : IndexedAnyhow {
  std::int64_t active(const RowsProblem& p) const override {
    return static_cast<std::int64_t>(p.sorted_ids.size());
  }
};

struct LastBlockCompleted : IndexedAnyhow {
  std::int64_t active(const RowsProblem& p) const override {
    const std::int64_t blocks = (p.num_tokens_padded + p.block_m - 1) / p.block_m;
    return std::min<std::int64_t>(blocks * p.block_m, static_cast<std::int64_t>(p.sorted_ids.size()));
  }
};

struct PartialBlockDropped : IndexedAnyhow {
  std::int64_t active(const RowsProblem& p) const override {
    return p.num_tokens_padded / p.block_m * p.block_m;
  }
};

struct OneActiveTooFew : IndexedAnyhow {
  std::int64_t active(const RowsProblem& p) const override {
    return std::max<std::int64_t>(0, p.num_tokens_padded - 1);
  }
};

struct ZeroActiveMeansAll : IndexedAnyhow {
  std::int64_t active(const RowsProblem& p) const override {
    return p.num_tokens_padded == 0 ? static_cast<std::int64_t>(p.sorted_ids.size()) : p.num_tokens_padded;
  }
};

struct SentinelWritesTheLastRow : IndexedAnyhow {
  std::int64_t row_of_id(const RowsProblem& p, std::int64_t id) const override {
    return std::min(id, p.rows() - 1);
  }
};

struct OnlyOneSentinel : IndexedAnyhow {  // ids beyond M * top_k wrap around
  std::int64_t row_of_id(const RowsProblem& p, std::int64_t id) const override {
    return p.rows() == 0 || id == p.rows() ? -1 : id % p.rows();
  }
};

struct SentinelEndsTheBlock : Rows {
  std::vector<RoutedRow> indexed(const RowsProblem& p) const override {
    std::vector<RoutedRow> result;
    std::int64_t ended = -1;
    for (std::int64_t r = 0; r < active(p); ++r) {
      const std::int64_t id = p.sorted_ids[index(r)];
      if (row_of_id(p, id) < 0) ended = block_of(p, r);
      if (block_of(p, r) == ended) continue;
      result.push_back({id, p.expert_ids[index(block_of(p, r))], source_of(p, id)});
    }
    return result;
  }
};

struct SentinelIsTokens : IndexedAnyhow {  // ids from M on are sentinels, as if top_k were 1
  std::int64_t row_of_id(const RowsProblem& p, std::int64_t id) const override {
    return id >= p.token_rows ? -1 : id;
  }
};

struct TokenIsIdModTopK : IndexedAnyhow {
  std::int64_t source_of(const RowsProblem& p, std::int64_t id) const override {
    return clamp(id % p.top_k, index(p.token_rows));
  }
};

struct TokenIsIdModTokens : IndexedAnyhow {
  std::int64_t source_of(const RowsProblem& p, std::int64_t id) const override { return id % p.token_rows; }
};

struct TokenIsId : IndexedAnyhow {  // the down projection's top_k = 1
  std::int64_t source_of(const RowsProblem& p, std::int64_t id) const override {
    return clamp(id, index(p.token_rows));
  }
};

struct RowIsThePosition : IndexedAnyhow {
  std::vector<RoutedRow> indexed(const RowsProblem& p) const override {
    std::vector<RoutedRow> result;
    for (std::int64_t r = 0; r < std::min(active(p), p.rows()); ++r) {
      const std::int64_t id = p.sorted_ids[index(r)];
      if (row_of_id(p, id) < 0) continue;
      result.push_back({r, p.expert_ids[index(block_of(p, r))], source_of(p, id)});
    }
    return result;
  }
};

struct BlockOfTheNextPosition : IndexedAnyhow {
  std::int64_t block_of(const RowsProblem& p, std::int64_t r) const override { return (r + 1) / p.block_m; }
};

struct BlocksOfTwiceTheSize : IndexedAnyhow {
  std::int64_t block_of(const RowsProblem& p, std::int64_t r) const override { return r / (2 * p.block_m); }
};

struct BlocksOfEight : IndexedAnyhow {
  std::int64_t block_of(const RowsProblem&, std::int64_t r) const override { return r / 8; }
};

struct ValidShapeCutsTokens : IndexedAnyhow {
  std::int64_t row_of_id(const RowsProblem& p, std::int64_t id) const override {
    const bool cut = p.valid_shape_m > 0 && id / p.top_k >= p.valid_shape_m;
    return cut ? -1 : Rows::row_of_id(p, id);
  }
};

// grouped_contiguous

struct PaddingComputed : Rows {
  std::int64_t expert_of_row(const RowsProblem& p, std::int64_t row) const override {
    const std::int64_t expert = Rows::expert_of_row(p, row);
    return expert < 0 && p.experts > 0 ? 0 : expert;
  }
};

struct ExpertZeroIsPadding : Rows {
  std::int64_t expert_of_row(const RowsProblem& p, std::int64_t row) const override {
    const std::int64_t expert = Rows::expert_of_row(p, row);
    return expert == 0 ? -1 : expert;
  }
};

template <std::int64_t kTile>
struct FirstRowOfTheTile : Rows {
  std::int64_t expert_of_row(const RowsProblem& p, std::int64_t row) const override {
    return Rows::expert_of_row(p, row - row % kTile);
  }
};

struct FirstRowOfTheTileButPadding : Rows {
  std::int64_t expert_of_row(const RowsProblem& p, std::int64_t row) const override {
    const std::int64_t first = Rows::expert_of_row(p, row - row % 4);
    return Rows::expert_of_row(p, row) < 0 ? -1 : first;
  }
};

struct PaddingEndsTheBuffer : Rows {
  std::int64_t expert_of_row(const RowsProblem& p, std::int64_t row) const override {
    const auto end = p.m_indices.begin() + row + 1;
    return std::find(p.m_indices.begin(), end, -1) != end ? -1 : Rows::expert_of_row(p, row);
  }
};

// grouped_masked

struct MaskedRowsComputed : Rows {
  std::int64_t used_rows(const RowsProblem& p, std::int64_t) const override { return p.max_m; }
};

struct OneRowTooFew : Rows {
  std::int64_t used_rows(const RowsProblem& p, std::int64_t e) const override {
    return std::max<std::int64_t>(0, Rows::used_rows(p, e) - 1);
  }
};

struct TilesOfTwoCompleted : Rows {
  std::int64_t used_rows(const RowsProblem& p, std::int64_t e) const override {
    return std::min(p.max_m, (Rows::used_rows(p, e) + 1) / 2 * 2);
  }
};

struct EmptyExpertHasARow : Rows {
  std::int64_t used_rows(const RowsProblem& p, std::int64_t e) const override {
    return std::min(p.max_m, std::max<std::int64_t>(1, Rows::used_rows(p, e)));
  }
};

struct CountOfTheFirstExpert : Rows {
  std::int64_t used_rows(const RowsProblem& p, std::int64_t) const override { return Rows::used_rows(p, 0); }
};

struct ExpectedRowsOnly : Rows {
  std::int64_t used_rows(const RowsProblem& p, std::int64_t e) const override {
    return std::min(p.expected_m, Rows::used_rows(p, e));
  }
};

struct RowsPackedDensely : Rows {
  std::int64_t first_row(const RowsProblem& p, std::int64_t e) const override {
    std::int64_t first = 0;
    for (std::int64_t before = 0; before < e; ++before) first += Rows::used_rows(p, before);
    return first;
  }
};

// All three

struct LastElementDropped : Rows {
  std::int64_t summed_width(const RowsProblem& p) const override { return p.in() - 1; }
};

struct SecondGroupDropped : Rows {
  std::int64_t summed_width(const RowsProblem&) const override { return 32; }
};

struct RoundedThroughF32 : Rows {
  std::uint64_t rounded(const Extended& exact) const override {
    if (!exact.is_finite()) return Rows::rounded(exact);
    return Rows::rounded(value_of(kF32, round_to_nearest_even(kF32, exact.value)));
  }
};

struct RowsTruncated : Rows {
  std::uint64_t rounded(const Extended& exact) const override {
    if (!exact.is_finite()) return Rows::rounded(exact);
    const std::uint64_t below = last_grid_point_not_above(kBf16, exact.value);
    return exact.sign() < 0 ? below | kBf16.sign_bit() : below;
  }
};

struct ZeroIsMinus : Rows {
  std::uint64_t rounded(const Extended& exact) const override {
    return exact.is_finite() && exact.value.is_zero() ? kBf16.sign_bit() : Rows::rounded(exact);
  }
};

struct UnwrittenRowsZeroed : Rows {
  std::uint64_t left_alone(std::uint64_t) const override { return 0; }
};

struct EveryRowWritten : Rows {
  std::uint8_t written(const RowsProblem&, bool) const override { return 1; }
};

struct WithoutOutputsNothingWritten : Rows {
  std::uint8_t written(const RowsProblem& p, bool named) const override { return p.out > 0 && named ? 1 : 0; }
};

struct InfIsNan : Rows {
  std::uint64_t rounded(const Extended& exact) const override {
    return exact.is_infinite() ? kBf16.canonical_nan() : Rows::rounded(exact);
  }
};

struct NanScaleFormulaAlways : Rows {
  Extended weight(const Layer&, int code, std::uint8_t byte) const override {
    return weight_of(code, byte, ScaleNan::kFormula, ScaleZero::kExact);
  }
};

constexpr RowsOp kOps[] = {RowsOp::kIndexed, RowsOp::kGroupedContiguous, RowsOp::kGroupedMasked};

template <class Model>
void add(std::vector<RowsMutant>& result, const char* name, RowsOp op) {
  result.push_back({name, op, std::make_shared<Model>()});
}

template <class Model>
void add_everywhere(std::vector<RowsMutant>& result, const std::string& name) {
  static constexpr const char* kNames[] = {"Indexed", "Contiguous", "Masked"};
  for (const RowsOp op : kOps) {
    result.push_back({name + kNames[static_cast<int>(op)], op, std::make_shared<Model>()});
  }
}

}  // namespace

std::shared_ptr<const Rows> careful_rows() { return std::make_shared<IndexedAnyhow>(); }

std::vector<RowsMutant> rows_mutants() {
  std::vector<RowsMutant> r;
  constexpr RowsOp kIndexed = RowsOp::kIndexed;
  add<CapacityTailRead>(r, "CapacityTailRead", kIndexed);
  add<LastBlockCompleted>(r, "LastBlockCompleted", kIndexed);
  add<PartialBlockDropped>(r, "PartialBlockDropped", kIndexed);
  add<OneActiveTooFew>(r, "OneActiveTooFew", kIndexed);
  add<ZeroActiveMeansAll>(r, "ZeroActiveMeansAll", kIndexed);
  add<SentinelWritesTheLastRow>(r, "SentinelWritesTheLastRow", kIndexed);
  add<OnlyOneSentinel>(r, "OnlyOneSentinel", kIndexed);
  add<SentinelEndsTheBlock>(r, "SentinelEndsTheBlock", kIndexed);
  add<SentinelIsTokens>(r, "SentinelIsTokens", kIndexed);
  add<TokenIsIdModTopK>(r, "TokenIsIdModTopK", kIndexed);
  add<TokenIsIdModTokens>(r, "TokenIsIdModTokens", kIndexed);
  add<TokenIsId>(r, "TokenIsId", kIndexed);
  add<RowIsThePosition>(r, "RowIsThePosition", kIndexed);
  add<BlockOfTheNextPosition>(r, "BlockOfTheNextPosition", kIndexed);
  add<BlocksOfTwiceTheSize>(r, "BlocksOfTwiceTheSize", kIndexed);
  add<BlocksOfEight>(r, "BlocksOfEight", kIndexed);
  add<ValidShapeCutsTokens>(r, "ValidShapeCutsTokens", kIndexed);

  constexpr RowsOp kContiguous = RowsOp::kGroupedContiguous;
  add<PaddingComputed>(r, "PaddingComputed", kContiguous);
  add<ExpertZeroIsPadding>(r, "ExpertZeroIsPadding", kContiguous);
  add<FirstRowOfTheTile<2>>(r, "FirstRowOfTheTileOf2", kContiguous);
  add<FirstRowOfTheTile<8>>(r, "FirstRowOfTheTileOf8", kContiguous);
  add<FirstRowOfTheTileButPadding>(r, "FirstRowOfTheTileButPadding", kContiguous);
  add<PaddingEndsTheBuffer>(r, "PaddingEndsTheBuffer", kContiguous);

  constexpr RowsOp kMasked = RowsOp::kGroupedMasked;
  add<MaskedRowsComputed>(r, "MaskedRowsComputed", kMasked);
  add<OneRowTooFew>(r, "OneRowTooFew", kMasked);
  add<TilesOfTwoCompleted>(r, "TilesOfTwoCompleted", kMasked);
  add<EmptyExpertHasARow>(r, "EmptyExpertHasARow", kMasked);
  add<CountOfTheFirstExpert>(r, "CountOfTheFirstExpert", kMasked);
  add<ExpectedRowsOnly>(r, "ExpectedRowsOnly", kMasked);
  add<RowsPackedDensely>(r, "RowsPackedDensely", kMasked);

  add_everywhere<LastElementDropped>(r, "LastElementDropped");
  add_everywhere<SecondGroupDropped>(r, "SecondGroupDropped");
  add_everywhere<RoundedThroughF32>(r, "RoundedThroughF32");
  add_everywhere<RowsTruncated>(r, "RowsTruncated");
  add_everywhere<ZeroIsMinus>(r, "ZeroIsMinus");
  add_everywhere<UnwrittenRowsZeroed>(r, "UnwrittenRowsZeroed");
  add_everywhere<EveryRowWritten>(r, "EveryRowWritten");
  add_everywhere<WithoutOutputsNothingWritten>(r, "WithoutOutputsNothingWritten");
  add_everywhere<InfIsNan>(r, "InfIsNan");
  add_everywhere<NanScaleFormulaAlways>(r, "NanScaleFormulaAlways");
  return r;
}

}  // namespace differential
