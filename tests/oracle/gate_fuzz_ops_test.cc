// Fuzzing over operations, formats and layouts.
#include <gtest/gtest.h>

#include <set>

#include "oracle/case/words.h"
#include "oracle/gate/draw.h"
#include "oracle/gate/fuzz.h"
#include "tests/oracle/fake_subject.h"

namespace moe4::oracle {
namespace {

TEST(DrawOps, EverythingThatTheReferenceTakesIsDrawn) {
  const Declaration d = make_reference_subject()->declaration();
  std::set<std::pair<Op, WeightFormat>> ops;
  std::set<std::string> layouts;
  std::set<Routing> routings;
  int ranks = 0, blocks = 0, capacities = 0, max_m = 0, expected_m = 0;
  for (std::uint64_t index = 0; index < 400; ++index) {
    const std::optional<Case> line = draw_case({&d}, 9, index);
    ASSERT_TRUE(line);
    ASSERT_FALSE(validate_case(*line)) << to_string(*line);
    ops.insert({line->op, line->weights});
    routings.insert(line->routing);
    if (line->layout) layouts.insert(*line->layout);
    ranks += line->ep.has_value();
    blocks += line->block_m.has_value();
    capacities += line->capacity.has_value();
    max_m += line->max_m.has_value();
    expected_m += line->expected_m.has_value();
  }
  EXPECT_EQ(ops.size(), 10u);
  EXPECT_EQ(routings.size(), all_routings().size());
  EXPECT_EQ(layouts.size(), layout_words().size());
  for (const int count : {ranks, blocks, capacities, max_m, expected_m}) EXPECT_GT(count, 5);
}

TEST(DrawOps, ADeclarationRestricts) {
  Declaration d = make_reference_subject()->declaration();
  d.ops = {Op::kIndexed};
  d.weights = {WeightFormat::kInt4};
  d.layouts = {"indexed_wgmma"};
  d.block_m = {16, 64};
  d.in_multiple = 64;
  d.out_multiple = 128;
  d.capacity_max = 512;
  std::set<std::int64_t> blocks;
  for (std::uint64_t index = 0; index < 60; ++index) {
    const std::optional<Case> line = draw_case({&d}, 9, index);
    ASSERT_TRUE(line);
    EXPECT_FALSE(d.refuses(*line)) << to_string(*line);
    EXPECT_EQ(line->layout, "indexed_wgmma");
    EXPECT_LE(line->capacity.value_or(0), 512);
    blocks.insert(line->block_rows());
  }
  EXPECT_EQ(blocks, (std::set<std::int64_t>{16, 64}));
}

// Takes the high nibbles for the low ones wherever weights come packed.
class SwappedNibbles : public FakeSubject {
 public:
  SwappedNibbles() : FakeSubject("swapped") {}
  SubjectRun run(const CaseData& data) override {
    if (data.layout == nullptr) return FakeSubject::run(data);
    CaseData seen = data;
    for (std::size_t b = 0; b < seen.packed.codes.bytes(); ++b) {
      std::byte& byte = seen.packed.codes.data()[b];
      byte = byte << 4 | byte >> 4;
    }
    return FakeSubject::run(seen);
  }
};

TEST(FuzzOps, APackFaultIsFoundAndKeepsItsLayout) {
  SwappedNibbles subject;
  Declaration& d = subject.mutable_declaration();
  d.ops = {Op::kIndexed, Op::kExpertLinear};
  d.weights = {WeightFormat::kInt4};
  d.layouts = {"compressed_tensors", "indexed_mma"};
  FuzzOptions options;
  options.seed = 3;
  options.cases = 60;
  options.shrink.runs = 150;
  Subject* const subjects[] = {&subject};
  const FuzzReport report = run_fuzz(subjects, options);
  ASSERT_EQ(report.failures.size(), 1u);
  const Case& minimal = report.failures[0].minimal.line;
  EXPECT_TRUE(minimal.layout) << to_string(minimal);
  EXPECT_LE(minimal.tokens, 2) << to_string(minimal);
  EXPECT_FALSE(minimal.ep || minimal.capacity) << to_string(minimal);
}

TEST(FuzzOps, TheReferencePasses) {
  const auto subject = make_reference_subject();
  FuzzOptions options;
  options.seed = 11;
  options.cases = 40;
  Subject* const subjects[] = {subject.get()};
  const FuzzReport report = run_fuzz(subjects, options);
  for (const FuzzFailure& failure : report.failures) ADD_FAILURE() << failure.found.failure;
  EXPECT_GT(report.runs, 20);
  EXPECT_LT(report.unusable, 10);
}

}  // namespace
}  // namespace moe4::oracle
