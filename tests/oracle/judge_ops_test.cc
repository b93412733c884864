// VER-2, VER-7, VER-15: rows that count, rows that may not be written, rows that may hold anything.
#include <algorithm>
#include <cstring>

#include "oracle/judge/report_text.h"
#include "oracle/subject/subject.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

Declaration declared() {
  Declaration d = make_reference_subject()->declaration();
  d.zero = ZeroCompare::kAny;
  return d;
}

SubjectRun norm_run_of(const CaseData& data) { return make_reference_subject()->run(data); }

std::string status_of(const CaseData& data, const SubjectRun& run) {
  return std::string(name_of(judge(data, declared(), run).status));
}

// Element (row, 0) of the output with the highest bit of its exponent flipped.
void flip(SubjectRun& run, const CaseData& data, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row * output_shape(data).out);
  run.output.as<std::uint16_t>()[at] ^= 0x4000;
}

// A row that the norm does not write.
std::int64_t free_row(const CaseData& data) {
  const Norm norm = norm_of_data(data);
  const auto found = std::find(norm.written.begin(), norm.written.end(), 0);
  EXPECT_NE(found, norm.written.end()) << "the case has no such row";
  return found - norm.written.begin();
}

CaseData with_free_rows(Op op, WeightFormat weights, Fill fill = Fill::kBits) {
  Case c = case_of("tokens=20 experts=4 top_k=2 in=64 out=8 seed=4");
  c.op = op;
  c.weights = weights;
  c.fill = fill;
  c.routing = Routing::kMinusOne;
  return data_of(c);
}

TEST(JudgeRows, TheNormPassesOnEveryOperationFormatAndFill) {
  for (const Op op : all_ops()) {
    for (const WeightFormat weights : all_weights()) {
      for (const Fill fill : all_fills()) {
        Case c = case_of("tokens=9 experts=5 top_k=2 in=64 out=9 seed=3");
        c.op = op;
        c.weights = weights;
        c.fill = fill;
        const CaseData data = data_of(c);
        const Verdict verdict = judge(data, declared(), norm_run_of(data));
        EXPECT_EQ(name_of(verdict.status), "PASSED") << to_string(c) << ": " << verdict.reason;
        EXPECT_EQ(verdict.max_ulp, 0);
        EXPECT_EQ(verdict.outputs, static_cast<std::int64_t>(output_rows(data).size()) * 9);
        const bool covers = op != Op::kCombine && fill != Fill::kNonfinite && fill != Fill::kCancel &&
                            fill != Fill::kSlabCancel && fill != Fill::kSubnormal;
        if (covers) {
          EXPECT_GT(verdict.coverage.of(weights).count(), 0u) << to_string(c);
        }
        EXPECT_EQ(verdict.coverage.count(), verdict.coverage.of(weights).count());
      }
    }
  }
}

TEST(JudgeRows, AWrongCountedRowIsRed) {
  for (const Op op : all_ops()) {
    for (const Fill fill : {Fill::kExact8, Fill::kBits}) {
      const CaseData data =
          op == Op::kExpertLinear
              ? data_of("tokens=9 experts=5 top_k=2 in=64 out=9 fill=bits seed=3 weights=int4")
              : with_free_rows(op, WeightFormat::kInt4, fill);
      SubjectRun run = norm_run_of(data);
      EXPECT_EQ(status_of(data, run), "PASSED");
      const std::int64_t row = output_rows(data).back().row;
      flip(run, data, row);
      const Verdict verdict = judge(data, declared(), run);
      EXPECT_EQ(name_of(verdict.status), "FAILED") << name_of(op);
      ASSERT_EQ(verdict.worst.size(), 1u);
      EXPECT_EQ(verdict.worst[0].row, row);
      EXPECT_NE(report_text(data, declared(), verdict).find("behind ["), std::string::npos);
    }
  }
}

TEST(JudgeRows, PaddingRowsOfGroupedOperationsMayHoldAnything) {
  for (const Op op : {Op::kGroupedContiguous, Op::kGroupedMasked}) {
    const CaseData data = with_free_rows(op, WeightFormat::kMxfp4);
    const std::int64_t row = free_row(data);
    SubjectRun run = norm_run_of(data);
    flip(run, data, row);
    run.output.as<std::uint16_t>()[static_cast<std::size_t>(row * 8 + 1)] = 0x7FC0;
    EXPECT_EQ(status_of(data, run), "PASSED") << name_of(op);
    run.written[static_cast<std::size_t>(row)] = 1;
    EXPECT_EQ(status_of(data, run), "PASSED") << "whole tiles are stored";
    run.written.clear();
    run.unwritten.assign(static_cast<std::size_t>(run.output.elements()), false);
    EXPECT_EQ(status_of(data, run), "PASSED");
  }
}

TEST(JudgeRows, AWrittenRowThatNoIdNamesIsRed) {
  const CaseData data = with_free_rows(Op::kIndexed, WeightFormat::kInt4);
  const std::int64_t row = free_row(data);
  SubjectRun said = norm_run_of(data);
  said.written[static_cast<std::size_t>(row)] = 1;
  const Verdict verdict = judge(data, declared(), said);
  EXPECT_EQ(name_of(verdict.status), "FAILED");
  EXPECT_EQ(verdict.stray, 8);
  EXPECT_NE(verdict.reason.find("VER-15"), std::string::npos) << verdict.reason;

  // The same, seen by a device that watches every element.
  SubjectRun seen = norm_run_of(data);
  seen.written.clear();
  seen.unwritten.assign(static_cast<std::size_t>(seen.output.elements()), false);
  const Norm norm = norm_of_data(data);
  for (std::size_t k = 0; k < seen.unwritten.size(); ++k) seen.unwritten[k] = norm.written[k / 8] == 0;
  EXPECT_EQ(status_of(data, seen), "PASSED");
  seen.unwritten[static_cast<std::size_t>(row * 8 + 3)] = false;
  EXPECT_EQ(judge(data, declared(), seen).stray, 1);
  EXPECT_EQ(status_of(data, seen), "FAILED");
}

// A kernel that takes an id beyond the last row for a row writes outside; one that wraps writes a row twice,
// which the values show.
TEST(JudgeRows, AMissingRowIsRed) {
  for (const Op op : row_ops()) {
    const CaseData data = with_free_rows(op, WeightFormat::kMxfp4);
    const std::int64_t row = output_rows(data)[3].row;
    SubjectRun said = norm_run_of(data);
    said.written[static_cast<std::size_t>(row)] = 0;
    EXPECT_EQ(judge(data, declared(), said).unwritten, 8) << name_of(op);
    EXPECT_EQ(status_of(data, said), "FAILED");
    SubjectRun seen = norm_run_of(data);
    seen.written.clear();
    seen.unwritten.assign(static_cast<std::size_t>(seen.output.elements()), false);
    if (op == Op::kIndexed) continue;
    seen.unwritten[static_cast<std::size_t>(row * 8 + 7)] = true;
    EXPECT_EQ(judge(data, declared(), seen).unwritten, 1);
    EXPECT_EQ(status_of(data, seen), "FAILED");
  }
}

TEST(JudgeRows, WrittenOfAnotherLengthIsRed) {
  const CaseData data = with_free_rows(Op::kIndexed, WeightFormat::kMxfp4);
  SubjectRun run = norm_run_of(data);
  run.written.push_back(0);
  EXPECT_EQ(status_of(data, run), "FAILED");
}

TEST(JudgeRows, MaskedOutputMayBeFlat) {
  const CaseData data = with_free_rows(Op::kGroupedMasked, WeightFormat::kInt4);
  SubjectRun run = norm_run_of(data);
  ASSERT_EQ(run.output.shape().size(), 3u);
  Tensor flat(Dtype::kBF16, output_shape(data).flat);
  std::memcpy(flat.data(), run.output.data(), flat.bytes());
  run.output = std::move(flat);
  EXPECT_EQ(status_of(data, run), "PASSED");
  run.output = Tensor(Dtype::kBF16, {output_shape(data).rows, 7});
  EXPECT_EQ(status_of(data, run), "FAILED");
}

// Named in the report: where the wrong rows lie in the blocks that a kernel works on.
TEST(JudgeRows, ClustersNameBlocksExpertsAndRows) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=40 experts=4 top_k=1 in=64 out=8 fill=bits block_m=8");
  const std::int64_t expert = output_rows(data)[0].slots[0].expert;
  SubjectRun run = norm_run_of(data);
  for (const OutputRow& row : output_rows(data)) {
    if (row.slots[0].expert == expert) flip(run, data, row.row);
  }
  const std::string text = report_text(data, declared(), judge(data, declared(), run));
  EXPECT_NE(text.find("expert " + std::to_string(expert) + ": the wrong rows are those of it"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("blocks: "), std::string::npos) << text;
  EXPECT_NE(text.find("as [row,output]"), std::string::npos) << text;
}

// A fault of packing shows through the reference, which unpacks what the case's layout holds.
TEST(JudgeRows, APlantedFaultOfPackingIsRed) {
  for (const char* line :
       {"op=indexed weights=int4 layout=indexed_mma tokens=9 experts=4 top_k=2 in=64 out=64 fill=exact8",
        "weights=mxfp4 layout=gguf tokens=9 experts=4 top_k=2 in=64 out=8 fill=bits",
        "op=grouped_masked weights=int4 layout=grouped_masked tokens=9 experts=4 top_k=2 in=128 out=64 "
        "fill=bits"}) {
    CaseData data = data_of(line);
    EXPECT_EQ(status_of(data, norm_run_of(data)), "PASSED") << line;
    std::byte* codes = data.packed.codes.data();
    for (std::size_t b = 0; b + 1 < data.packed.codes.bytes(); b += 2) std::swap(codes[b], codes[b + 1]);
    EXPECT_EQ(status_of(data, norm_run_of(data)), "FAILED") << line;
  }
}

TEST(JudgeRows, Int4CoverageIsWhatAlterationsShow) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=3 experts=2 top_k=1 in=32 out=6 fill=real seed=21");
  const Verdict verdict = judge(data, declared(), norm_run_of(data));
  ASSERT_EQ(name_of(verdict.status), "PASSED");
  const auto& covered = verdict.coverage.int4_pairs;
  ASSERT_TRUE(covered.any());
  Coverage::Pairs shown;
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t o = 0; o < 6; ++o) {
      for (std::int64_t i = 0; i < 32; ++i) {
        const unsigned code = any_code_at(data, e, o, i);
        bool always = true;
        for (const int step : {-1, 1}) {
          const int other = static_cast<int>(code) + step;
          if (other < 0 || other > 15) continue;
          CaseData altered = data;
          auto words = altered.packed_weights.as<std::int32_t>();
          auto& word = words[static_cast<std::size_t>((e * 6 + o) * 4 + i / 8)];
          const auto shift = static_cast<unsigned>(4 * (i % 8));
          word = static_cast<std::int32_t>((static_cast<std::uint32_t>(word) & ~(0xFu << shift)) |
                                           static_cast<std::uint32_t>(other) << shift);
          always = always && status_of(data, norm_run_of(altered)) == "FAILED";
        }
        if (always) shown.set(code * 256 + (any_scale_at(data, e, o, 0) >> 7 & 255u));
      }
    }
  }
  EXPECT_TRUE((covered & ~shown).none()) << "covered, but no alteration shows it";
  EXPECT_GE(2 * covered.count(), shown.count()) << "the rule misses most of what is shown";
}

// exact24 holds what profile `once` returns; another profile rounds on the way, and its interval is judged.
TEST(JudgeRows, OtherDequantisationIsNotHeldToTheNorm) {
  const CaseData data =
      data_of("op=indexed weights=int4 tokens=5 experts=4 top_k=1 in=64 out=8 fill=exact24");
  Declaration d = declared();
  d.arithmetic.dequant = Int4Order::kTruncate;
  const Verdict verdict = judge(data, d, norm_run_of(data));
  EXPECT_EQ(verdict.rule.find("VER-3"), std::string::npos) << verdict.rule;
  EXPECT_NE(name_of(verdict.status), "PASSED") << "the norm's weights are not the truncated ones";
}

}  // namespace
}  // namespace moe4::oracle
