// Outputs inside their intervals with other bits than are promised (VER-17): whose bits they are, and which
// fault gives them.
#include <gtest/gtest.h>

#include <algorithm>

#include "oracle/diagnose/diagnose.h"
#include "oracle/faults/selftest.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

constexpr const char* kF32 =
    "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=3 in=256 out=9 dtype=f32 fill=real seed=0x7";
constexpr const char* kSlabs =
    "op=indexed weights=mxfp4 tokens=17 experts=3 top_k=1 in=512 out=12 dtype=bf16 block_m=8 "
    "fill=slab_cancel seed=0x1203";
constexpr const char* kCombine =
    "op=combine weights=mxfp4 tokens=9 experts=6 top_k=4 in=64 out=9 dtype=f32 fill=real seed=6";

Declaration promise(const std::string& words) {
  Declaration d = healthy_declaration();
  d.arithmetic = parse_arithmetic(words).value();
  d.profile = name_of(d.arithmetic.profile);
  d.bits_declared = true;
  return d;
}

SubjectRun run_as(const CaseData& data, const std::string& words) {
  const Result<Norm> result = declared_result(data, parse_arithmetic(words).value());
  EXPECT_TRUE(result.ok()) << words;
  return result.ok() ? healthy_run(*result) : SubjectRun{};
}

Diagnosis of_run(const CaseData& data, const Declaration& declaration, const SubjectRun& run) {
  const Verdict verdict = judge(data, declaration, run);
  EXPECT_EQ(verdict.mismatched, 0);
  EXPECT_GT(verdict.bits_differ, 0);
  Result<Diagnosis> diagnosis = diagnose(data, declaration, run, {nullptr, std::chrono::seconds(60)});
  EXPECT_TRUE(diagnosis.ok());
  return diagnosis.ok() ? std::move(*diagnosis) : Diagnosis{};
}

std::string names_of(const Diagnosis& diagnosis) {
  std::string names;
  for (const FaultMatch& match : diagnosis.matches) names += std::string(match.fault->name) + " ";
  return names;
}

// Orders, slices, units and roundings: the one that was computed is among the few that have all the bits.
TEST(DiagnoseBits, NamesTheArithmeticThatWasComputed) {
  const struct {
    const char *line, *declared, *computed;
  } kWrong[] = {
      {kF32, "order=seq", "order=groups(32)"},
      {kF32, "order=groups(32)", "order=seq"},
      {kF32, "order=lanes(32,8)+shfl", "order=lanes(32,8)+seq"},
      {kF32, "order=lanes(32,8)+shfl", "order=lanes(32,4)+shfl"},
      {kF32, "order=warps(64,2)+tree", "order=warps(32,2)+tree"},
      {kF32, "order=seq", "order=split(4)"},
      {kF32, "order=split(2)*groups(32)", "order=groups(32)"},
      {kF32, "order=seq", "order=seq products=rounded"},
      {kSlabs, "order=seq accumulation=hopper", "order=seq accumulation=ampere"},
      {kCombine, "order=seq", "order=seq products=rounded"},
  };
  for (const auto& [line, declared, computed] : kWrong) {
    const CaseData data = data_of(line);
    const Diagnosis diagnosis = of_run(data, promise(declared), run_as(data, computed));
    ASSERT_TRUE(diagnosis.followed) << computed;
    const auto& found = diagnosis.followed->arithmetics;
    const Arithmetic right = parse_arithmetic(computed).value();
    EXPECT_NE(std::find(found.begin(), found.end(), right), found.end())
        << computed << " for " << declared << ": " << diagnosis_text(diagnosis);
    EXPECT_LE(found.size(), 4U) << computed;
    EXPECT_NE(diagnosis_text(diagnosis).find("have the bits of "), std::string::npos);
  }
}

// Faults that no declaration describes: planted in kernels of other orders than the catalogue's own.
TEST(DiagnoseBits, NamesWhatWasPlanted) {
  const struct {
    const char *line, *declared, *fault;
  } kPlanted[] = {
      {kF32, "order=groups(32)", "one_fma_truncates"},
      {kF32, "order=seq", "one_fma_truncates"},
      {kF32, "order=warps(64,2)+tree", "one_fma_truncates"},
      {kF32, "order=lanes(32,4)+shfl", "one_fma_truncates_in_lane"},
      {kF32, "order=groups(64)", "two_chains_exchanged"},
      {kF32, "order=groups(64)", "slots_backwards"},
      {kF32, "order=lanes(16,4)+shfl", "joins_in_another_tree"},
      {kF32, "order=split(2)", "slices_not_joined"},
      {kSlabs, "order=groups(64) accumulation=hopper", "steps_of_another_generation"},
      {kCombine, "order=seq", "weighting_unfused"},
  };
  for (const auto& [line, declared, name] : kPlanted) {
    const CaseData data = data_of(line);
    const Declaration declaration = promise(declared);
    const Result<Norm> healthy = declared_result(data, declaration.arithmetic);
    ASSERT_TRUE(healthy.ok());
    const auto& all = fault_catalogue();
    const auto fault =
        std::find_if(all.begin(), all.end(), [&](const Fault& f) { return f.name == std::string(name); });
    ASSERT_NE(fault, all.end());
    Scene scene(data, *healthy, Key::from_seed(9));
    scene.declare(declaration.arithmetic);
    const Result<Planted> planted = plant_fault(*fault, scene);
    ASSERT_TRUE(planted.ok() && planted->visible) << name << " in " << declared;
    const Diagnosis diagnosis = of_run(data, declaration, planted->run);
    EXPECT_TRUE(diagnosis.names(name)) << name << " in " << declared << ": " << diagnosis_text(diagnosis);
    EXPECT_TRUE(diagnosis.matches.empty() || diagnosis.matches.front().perfect) << names_of(diagnosis);
    if (!diagnosis.matches.empty() && diagnosis.matches.front().fault->name == fault->name) {
      EXPECT_EQ(diagnosis.matches.front().where, planted->where);
    }
  }
}

// Where nothing fits nothing is named.
TEST(DiagnoseBits, SaysThatNothingFits) {
  const CaseData data = data_of(kF32);
  const Declaration declaration = promise("order=seq");
  SubjectRun run = run_as(data, "order=seq");
  int changed = 0;
  for (std::int64_t k = 0; k < run.output.elements(); k += 3) {
    const std::uint64_t bits = output_bits(run.output, k);
    set_output_bits(run.output, k, k % 2 == 0 ? bits + 1 : bits - 1);
    ++changed;
  }
  ASSERT_EQ(judge(data, declaration, run).bits_differ, changed);
  const Diagnosis diagnosis = of_run(data, declaration, run);
  EXPECT_NE(diagnosis.confidence, Confidence::kHigh) << names_of(diagnosis);
  ASSERT_TRUE(diagnosis.followed);
  EXPECT_TRUE(diagnosis.followed->arithmetics.empty());
  const std::string text = diagnosis_text(diagnosis);
  EXPECT_NE(text.find("arithmetic: none of "), std::string::npos) << text;
}

// A wrong output of an exact fill may lie inside the interval; the norm's bits are due all the same.
TEST(DiagnoseBits, ExactFillsAreDiagnosedByTheNorm) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=9 experts=4 top_k=2 in=96 out=20 dtype=f32 fill=exact24 seed=3");
  SubjectRun run = healthy_run(norm_of_data(data));
  set_output_bits(run.output, 7, output_bits(run.output, 7) + 1);
  Declaration declaration = healthy_declaration();
  declaration.arithmetic.order = {};  // any: wide intervals
  ASSERT_EQ(judge(data, declaration, run).mismatched, 1);
  const Result<Diagnosis> diagnosis = diagnose(data, declaration, run, {nullptr, std::chrono::seconds(60)});
  ASSERT_TRUE(diagnosis.ok());
  EXPECT_EQ(diagnosis->wrong, 1);
  EXPECT_TRUE(diagnosis->names("one_result_ulp")) << names_of(*diagnosis);
}

}  // namespace
}  // namespace moe4::oracle
