// The diagnosis sees case and output alone: it must name what was planted, and must not name what was not.
#include <algorithm>
#include <cstring>

#include "oracle/diagnose/diagnose.h"
#include "oracle/diagnose/read_back.h"
#include "oracle/faults/selftest.h"
#include "oracle/judge/report_text.h"
#include "tests/oracle/judged_run.h"

namespace moe4::oracle::test {
namespace {

using moe4::test::KernelSimulation;
using moe4::test::simulate;

const Fault& fault_named(std::string_view name) {
  for (const Fault& fault : fault_catalogue()) {
    if (fault.name == name) return fault;
  }
  ADD_FAILURE() << name;
  return fault_catalogue().front();
}

std::string names_of(const Diagnosis& diagnosis) {
  std::string names;
  for (const FaultMatch& match : diagnosis.matches) names += std::string(match.fault->name) + " ";
  return names;
}

Diagnosis of_run(const CaseData& data, const Declaration& declaration, const SubjectRun& run) {
  Result<Diagnosis> diagnosis = diagnose(data, declaration, run, {nullptr, std::chrono::seconds(60)});
  EXPECT_TRUE(diagnosis.ok());
  return diagnosis.ok() ? std::move(*diagnosis) : Diagnosis{};
}

// One fault of each kind of place, each on two seeds.
TEST(Diagnose, NamesWhatWasPlanted) {
  constexpr const char* kLinear =
      "op=expert_linear weights=mxfp4 tokens=12 experts=4 top_k=2 in=256 out=40 dtype=bf16 fill=real "
      "seed=0x11";
  constexpr const char* kInt4 =
      "op=indexed weights=int4 tokens=20 experts=4 top_k=2 in=96 out=24 dtype=bf16 fill=exact24 seed=0x12";
  for (const char* line : {kLinear, kInt4}) {
    const CaseData data = data_of(line);
    const Norm norm = *fast_norm_result(data);
    for (const char* name :
         {"one_nibble_step", "one_byte_swapped", "one_scale_of_next_row", "last_group_of_a_row_lost",
          "nibbles_swapped", "column_unwritten", "columns_swapped", "stale_tile", "tile_rows_swapped",
          "poison_kept", "last_step_lost", "scales_transposed", "neighbour_token", "expert_off_by_one",
          "accumulator_13_bits", "store_truncates", "one_weight_ulp", "weight_missing", "input_changed"}) {
      if (!applies(fault_named(name), data)) continue;
      for (const std::uint64_t seed : {1, 2}) {
        const Result<Planted> planted = plant_fault(fault_named(name), data, norm, seed);
        ASSERT_TRUE(planted.ok());
        if (!planted->visible) continue;
        const Diagnosis diagnosis = of_run(data, healthy_declaration(), planted->run);
        EXPECT_TRUE(diagnosis.names(name)) << name << " named " << names_of(diagnosis);
        EXPECT_TRUE(diagnosis.complete);
      }
    }
  }
}

// A kernel with roundings of its own: what it returns is not the norm of the altered weights to the bit.
TEST(Diagnose, NamesTheFaultOfAKernelThatRounds) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=24 experts=4 top_k=2 in=512 out=20 dtype=f32 fill=real "
      "seed=0x21");
  CaseData seen = data;
  Weights weights(seen);
  for (std::int64_t e = 0; e < weights.experts(); ++e) {
    for (std::int64_t o = 0; o < weights.out(); ++o) weights.clear_group(e, o, weights.groups() - 1);
  }
  const KernelSimulation kernel{parse_order("lanes(32,8)+shfl").value()};
  const Diagnosis diagnosis =
      of_run(data, declaration_of("lanes(32,8)+shfl"), run_of(simulate(seen.inputs(), kernel)));
  EXPECT_TRUE(diagnosis.names("last_step_lost")) << names_of(diagnosis);
  EXPECT_EQ(diagnosis.confidence, Confidence::kHigh);
}

// One weight of one row: the place is found.
TEST(Diagnose, FindsThePlace) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=24 experts=4 top_k=2 in=512 out=20 dtype=bf16 fill=real "
      "seed=0x22");
  CaseData seen = data;
  Weights weights(seen);
  ASSERT_EQ(seen.line->top_k, 2);
  const std::int64_t expert = data.selected_experts.as<std::int32_t>()[0];
  weights.set_scale(expert, 7, 3, weights.scale(expert, 7, 3) + 1);
  const Result<Norm> wrong = fast_norm_result(seen);
  ASSERT_TRUE(wrong.ok());
  const Diagnosis diagnosis = of_run(data, healthy_declaration(), run_of(wrong->output));
  ASSERT_TRUE(diagnosis.names("one_scale_step")) << names_of(diagnosis);
  EXPECT_EQ(diagnosis.confidence, Confidence::kHigh);
  EXPECT_EQ(diagnosis.matches.front().where, "expert " + std::to_string(expert) + ", row 7, group 3");
  EXPECT_TRUE(diagnosis.matches.front().perfect);
}

// Faults that the catalogue does not hold: no name with high confidence.
TEST(Diagnose, DoesNotNameTheUnknown) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=12 experts=4 top_k=2 in=256 out=40 dtype=bf16 fill=real "
      "seed=0x11");
  const Tensor norm = norm_of(data);
  const auto unknown = [&](auto edit) {
    Tensor output = norm;
    for (std::int64_t k = 0; k < output.elements(); ++k) {
      set_output_bits(output, k, edit(k, output_bits(norm, k)));
    }
    return of_run(data, healthy_declaration(), run_of(std::move(output)));
  };
  const Diagnosis reversed =
      unknown([&](std::int64_t k, std::uint64_t) { return output_bits(norm, k / 40 * 40 + 39 - k % 40); });
  EXPECT_NE(reversed.confidence, Confidence::kHigh) << names_of(reversed);
  const Diagnosis noise =
      unknown([](std::int64_t k, std::uint64_t bits) { return bits ^ (Key::from_seed(7)(k).bits(0, 4)); });
  EXPECT_NE(noise.confidence, Confidence::kHigh) << names_of(noise);
  const Diagnosis scaled = unknown([](std::int64_t, std::uint64_t bits) { return bits + (5U << 7); });
  EXPECT_NE(scaled.confidence, Confidence::kHigh) << names_of(scaled);
}

// Every fault of the catalogue taken out of it in turn: another one may fit (the same bits on this case), but
// none is named with high confidence that does not fit to the bit.
TEST(Diagnose, WithoutTheRightEntryNoOtherIsSure) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=bf16 fill=exact24 "
      "seed=3");
  const Norm norm = *fast_norm_result(data);
  for (std::size_t n = 0; n < fault_catalogue().size(); n += 3) {
    const Fault& out = fault_catalogue()[n];
    if (!applies(out, data)) continue;
    const Result<Planted> planted = plant_fault(out, data, norm, 1);
    if (!planted.ok() || !planted->visible) continue;
    std::vector<Fault> rest;
    for (const Fault& fault : fault_catalogue()) {
      if (fault.name != out.name) rest.push_back(fault);
    }
    const Result<Diagnosis> diagnosis =
        diagnose(data, healthy_declaration(), planted->run, {&rest, std::chrono::seconds(60)});
    ASSERT_TRUE(diagnosis.ok());
    if (diagnosis->confidence == Confidence::kHigh) {
      EXPECT_TRUE(diagnosis->matches.front().perfect) << out.name << " named " << names_of(*diagnosis);
    }
  }
}

// onehot tokens: the weights that were used, one by one.
TEST(ReadBack, NibblesAndScales) {
  for (const char* weights : {"mxfp4", "int4"}) {
    const CaseData data =
        data_of("op=indexed weights=" + std::string(weights) +
                " tokens=64 experts=2 top_k=1 in=64 out=9 dtype=bf16 fill=onehot routing=one seed=4");
    const Norm norm = *fast_norm_result(data);
    const ReadBack right = read_back(data, norm.output);
    EXPECT_EQ(right.read, 64 * 9);
    EXPECT_TRUE(right.different.empty());
    EXPECT_EQ(read_back_text(right), "");

    const std::int64_t expert = data.expert_ids.as<std::int32_t>()[0];
    CaseData seen = data;
    Weights(seen).set_code(expert, 5, 33, Weights(seen).code(expert, 5, 33) ^ 1U);
    const ReadBack nibble = read_back(data, fast_norm_result(seen)->output);
    ASSERT_EQ(nibble.different.size(), 1U);
    EXPECT_EQ(nibble.different[0].expert, expert);
    EXPECT_EQ(nibble.different[0].out, 5);
    EXPECT_EQ(nibble.different[0].in, 33);
    EXPECT_EQ(nibble.different[0].as, nibble.different[0].code ^ 1U);
    EXPECT_NE(read_back_text(nibble).find("row 5, column 33"), std::string::npos);

    seen = data;
    Weights w(seen);
    w.set_scale(expert, 2, 1, w.int4() ? w.scale(expert, 2, 1) + 128 : w.scale(expert, 2, 1) + 1);
    const ReadBack scale = read_back(data, fast_norm_result(seen)->output);
    EXPECT_GT(scale.different.size(), 20U);  // all but the zeros of the group
    EXPECT_NE(read_back_text(scale).find("each is 2^1 times the right one: a scale"), std::string::npos)
        << read_back_text(scale);
  }
}

TEST(Diagnose, TheReportSaysIt) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=12 experts=4 top_k=2 in=256 out=40 dtype=bf16 fill=real "
      "seed=0x11");
  const Norm norm = *fast_norm_result(data);
  const Result<Planted> planted = plant_fault(fault_named("nibbles_swapped"), data, norm, 1);
  ASSERT_TRUE(planted.ok());
  Verdict verdict = judge(data, healthy_declaration(), planted->run);
  verdict.fault = fault_lines(data, healthy_declaration(), planted->run, verdict);
  const std::string text = report_text(data, healthy_declaration(), verdict);
  EXPECT_NE(text.find("fault, high confidence\n    nibbles_swapped (class B)"), std::string::npos) << text;
  const SubjectRun healthy = run_of(norm.output);
  EXPECT_EQ(fault_lines(data, healthy_declaration(), healthy, judge(data, healthy_declaration(), healthy)),
            "");
}

}  // namespace
}  // namespace moe4::oracle::test
