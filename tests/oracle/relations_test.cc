// VER-18 and VER-19: subjects whose fault only a second run shows, each beside its healthy twin.
#include <gtest/gtest.h>

#include <set>

#include "oracle/faults/scene.h"
#include "oracle/gate/gate.h"
#include "oracle/gate/tiers.h"
#include "oracle/generate/generate.h"
#include "oracle/generate/store.h"
#include "oracle/judge/encodings.h"
#include "oracle/judge/relations.h"
#include "tests/oracle/fake_subject.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

// Everything that the reference takes.
void takes_all(FakeSubject& subject) {
  subject.mutable_declaration().ops = all_ops();
  subject.mutable_declaration().weights = all_weights();
}

CaseResult held(FakeSubject& subject, const std::string& line) {
  const CaseData data = data_of(line);
  CaseResult result = evaluate(subject, *data.line, data);
  EXPECT_EQ(result.verdict.status, VerdictStatus::kPassed) << result.failure;
  hold_relations(subject, data, result);
  return result;
}

std::string line_of(Op op, WeightFormat weights, const std::string& fill) {
  return "op=" + std::string(name_of(op)) + " weights=" + std::string(moe4::name_of(weights)) +
         " tokens=9 experts=6 top_k=2 in=96 out=9 dtype=bf16 fill=" + fill + " seed=0x3";
}

// Every relation is there for some operation, keeps the case valid, and the norm keeps to it.
TEST(Relations, TheNormHoldsThemAll) {
  std::set<std::string_view> names;
  for (const Op op : all_ops()) {
    for (const WeightFormat weights : all_weights()) {
      for (const char* fill : {"exact8", "real"}) {
        FakeSubject subject("healthy");
        takes_all(subject);
        subject.mutable_declaration().invariant = true;
        const CaseResult result = held(subject, line_of(op, weights, fill));
        EXPECT_EQ(result.verdict.status, VerdictStatus::kPassed) << result.failure;
        for (const Related& related :
             related_cases(data_of(line_of(op, weights, fill)), subject.declaration())) {
          names.insert(related.name);
          EXPECT_EQ(related.twin.size(), static_cast<std::size_t>(output_shape(related.data).rows))
              << related.name;
        }
      }
    }
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"permute_tokens", "permute_experts", "split_batch", "block_m",
                                               "capacity", "padding", "expected_m"}));
}

void one_ulp(SubjectRun& run, std::int64_t index) {
  set_output_bits(run.output, index, output_bits(run.output, index) ^ 1U);
}

TEST(Relations, ASecondRunIsTold) {
  int runs = 0;
  const auto sometimes = [&](const CaseData&, SubjectRun& run) {
    if (runs++ % 3 == 2) one_ulp(run, 4);  // right when it is judged
  };
  FakeSubject subject("racy", sometimes);
  const CaseResult result = held(subject, line_of(Op::kExpertLinear, WeightFormat::kMxfp4, "exact24"));
  EXPECT_EQ(result.verdict.status, VerdictStatus::kFailed);
  EXPECT_NE(result.verdict.rule.find("VER-18"), std::string::npos);
  EXPECT_NE(result.failure.find("tokens: 1 of 9: 0"), std::string::npos) << result.failure;

  runs = 0;
  FakeSubject open("racy and says so", sometimes);
  open.mutable_declaration().deterministic = false;
  open.mutable_declaration().invariant = false;
  EXPECT_EQ(held(open, line_of(Op::kExpertLinear, WeightFormat::kMxfp4, "real")).verdict.status,
            VerdictStatus::kPassed);
}

std::uint64_t identity_of(const CaseData& data) {
  return digest_of_all(data) + 0x9E3779B97F4A7C15U * static_cast<std::uint64_t>(data.expected_m);
}

// Each is wrong in the case that one relation makes and nowhere else, so that the first verdict is PASSED.
TEST(Relations, EachIsTheOnlyOneToSeeAFault) {
  const std::vector<std::pair<std::string_view, Op>> faults = {
      {"permute_tokens", Op::kIndexed},   {"permute_experts", Op::kExpertLinear},
      {"split_batch", Op::kCombine},      {"block_m", Op::kGroupedContiguous},
      {"capacity", Op::kIndexed},         {"padding", Op::kGroupedMasked},
      {"expected_m", Op::kGroupedMasked},
  };
  for (const auto& [relation, op] : faults) {
    const std::string line = line_of(op, WeightFormat::kInt4, "exact8");
    std::uint64_t only = 0;
    FakeSubject subject("wrong in one", [&](const CaseData& now, SubjectRun& run) {
      if (identity_of(now) != only) return;
      for (std::int64_t k = 0; k < run.output.elements(); ++k) one_ulp(run, k);
    });
    takes_all(subject);
    for (const Related& related : related_cases(data_of(line), subject.declaration())) {
      if (related.name == relation) only = identity_of(related.data);
    }
    ASSERT_NE(only, 0U) << relation;
    const CaseResult result = held(subject, line);
    EXPECT_EQ(result.verdict.status, VerdictStatus::kFailed) << relation;
    EXPECT_NE(result.verdict.rule.find("VER-19"), std::string::npos);
    EXPECT_EQ(result.verdict.reason.rfind(relation, 0), 0U) << relation << ": " << result.verdict.reason;
  }
}

// An order that depends on the size of the batch stays inside the interval of `any`: only `invariant` is
// against it.
TEST(Relations, InvarianceIsDueFromWhoDeclaresIt) {
  const auto by_size = [](const CaseData& data, SubjectRun& run) {
    Arithmetic a;
    a.order = *parse_order(data.mixture_weights.dim(0) > 8 ? "seq" : "lanes(32,8)+shfl");
    run.output = declared_result(data, a)->output;
  };
  const std::string line =
      "op=expert_linear weights=mxfp4 tokens=9 experts=3 top_k=2 in=512 out=9 dtype=f32 fill=real seed=0x3";
  for (const bool invariant : {false, true}) {
    FakeSubject subject("by size", by_size);
    subject.mutable_declaration().arithmetic.order = *parse_order("any");
    subject.mutable_declaration().invariant = invariant;
    const CaseResult result = held(subject, line);
    EXPECT_EQ(result.verdict.status, invariant ? VerdictStatus::kFailed : VerdictStatus::kPassed);
    EXPECT_EQ(result.verdict.reason.rfind("split_batch", 0) == 0, invariant) << result.verdict.reason;
  }
}

// What serving kernels do wrong beside the numbers: the smoke gate's own cases tell each.
TEST(Relations, ServingFaultsAreToldByTheSmokeGate) {
  const auto lose = [](const CaseData& data, SubjectRun& run, auto lost) {
    const std::int64_t out = output_shape(data).out;
    for (const OutputRow& row : output_rows(data)) {
      for (std::int64_t o = 0; lost(row.row) && o < out; ++o)
        set_output_bits(run.output, row.row * out + o, 0);
    }
  };
  Tensor before;  // of the call before
  const std::vector<std::pair<std::string, FakeSubject::Edit>> faults = {
      {"a workspace is cleared for a new shape only",
       [&](const CaseData&, SubjectRun& run) {
         const bool same = before.dtype() == run.output.dtype() && before.shape() == run.output.shape();
         before = run.output;
         for (std::int64_t k = 0; same && k < run.output.elements(); k += 2) one_ulp(run, k);
       }},
      {"the hint is taken for the number of rows",
       [&](const CaseData& data, SubjectRun& run) {
         if (data.op != Op::kGroupedMasked) return;
         const std::int64_t max_m = output_shape(data).rows / data.masked_m.elements();
         lose(data, run, [&](std::int64_t row) { return row % max_m >= data.expected_m; });
       }},
      {"blocks of the capacity are taken in pairs, and an odd one is left",
       [&](const CaseData& data, SubjectRun& run) {
         if (data.op != Op::kIndexed || data.sorted_ids.elements() / data.block_m % 2 == 0) return;
         std::int64_t left = 0;
         lose(data, run, [&](std::int64_t) { return left++ == 0; });
       }},
      {"a row of padding decides how its neighbour is rounded",
       [&](const CaseData& data, SubjectRun& run) {
         if (data.op != Op::kGroupedContiguous) return;
         std::set<std::int64_t> rows;
         for (const OutputRow& row : output_rows(data)) rows.insert(row.row);
         const Encodings tokens(data.latent_tokens.dtype());
         for (const std::int64_t row : rows) {
           const std::int64_t next = row + 1;
           if (next >= data.latent_tokens.dim(0) || rows.contains(next)) continue;
           const std::uint64_t bits = token_bits(data, next, 0);
           if (tokens.is_finite(bits) && !tokens.is_zero(bits)) one_ulp(run, row * output_shape(data).out);
         }
       }},
      {"tokens are ordered by number, and ties of experts fall to the larger",
       [&](const CaseData& data, SubjectRun& run) {
         if (data.op != Op::kCombine || data.mixture_weights.dim(0) < 2) return;
         const std::uint64_t first = load_float_bits(data.mixture_weights, 0);
         const std::uint64_t last =
             load_float_bits(data.mixture_weights, data.mixture_weights.elements() - 1);
         if (first < last) lose(data, run, [](std::int64_t row) { return row == 0; });
       }},
  };
  for (const auto& [what, edit] : faults) {
    before = Tensor();
    FakeSubject subject(what, edit);
    takes_all(subject);
    Subject* const subjects[] = {&subject};
    const std::vector<Case> smoke = *parse_case_list(find_tier("smoke")->list);
    std::vector<Case> cases;
    for (const Case& line : smoke) {
      const bool other = line.op != Op::kExpertLinear || line.fill == Fill::kExact8;
      if (other && line.in <= 128 && line.out <= 65 && !line.layout) cases.push_back(line);
    }
    EXPECT_EQ(run_gate(subjects, cases, {}).exit_code(), ExitCode::kMismatch) << what;
  }
}

// Of each routing one, where the tier asks for it.
TEST(Relations, EachRoutingIsHeldWhereThatIsAsked) {
  std::vector<Case> cases;
  for (const char* routing : {"uniform", "hot", "uniform", "one"}) {
    cases.push_back(
        *parse_case(line_of(Op::kExpertLinear, WeightFormat::kMxfp4, "exact24") + " routing=" + routing));
    cases.back().seed += cases.size();
  }
  int few = 0;
  for (const HoldCases hold : {HoldCases::kNone, HoldCases::kFew, HoldCases::kEachRouting}) {
    FakeSubject subject("healthy");
    Subject* const subjects[] = {&subject};
    GateOptions options;
    options.hold = hold;
    EXPECT_EQ(run_gate(subjects, cases, options).exit_code(), ExitCode::kPassed);
    const int more = subject.runs - static_cast<int>(cases.size());
    if (hold == HoldCases::kFew) few = more;
    const int due = hold == HoldCases::kNone ? 0 : hold == HoldCases::kFew ? few : 3 * few;
    EXPECT_EQ(more, due);
  }
  EXPECT_GT(few, 3);
  EXPECT_EQ(find_tier("smoke")->hold, HoldCases::kFew);
  EXPECT_EQ(find_tier("ci")->hold, HoldCases::kEachRouting);
}

TEST(Relations, TheGateHoldsThem) {
  int runs = 0;
  FakeSubject subject("racy", [&](const CaseData&, SubjectRun& run) {
    if (runs++ == 2) one_ulp(run, 0);
  });
  Subject* const subjects[] = {&subject};
  const std::vector<Case> cases = {*parse_case(line_of(Op::kExpertLinear, WeightFormat::kMxfp4, "exact24"))};
  EXPECT_EQ(run_gate(subjects, cases, {}).exit_code(), ExitCode::kMismatch);
  runs = 0;
  GateOptions without;
  without.hold = HoldCases::kNone;
  EXPECT_EQ(run_gate(subjects, cases, without).exit_code(), ExitCode::kPassed);
}

}  // namespace
}  // namespace moe4::oracle
