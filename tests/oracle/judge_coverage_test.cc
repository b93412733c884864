// VER-10, VER-11: what counts as covered, against altering the data and looking.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "oracle/judge/coverage.h"
#include "tests/oracle/judged_run.h"

namespace moe4::oracle::test {
namespace {

Coverage coverage_of(const CaseData& data, const char* order = "seq") {
  const Verdict verdict = judge(data, declaration_of(order), norm_run(data));
  EXPECT_EQ(status_of(verdict), "PASSED") << verdict.reason;
  return verdict.coverage;
}

std::size_t pair_index(int code, int byte) { return static_cast<std::size_t>(code * 256 + byte); }

constexpr std::array<double, 16> kValues = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};

// The codes nearest to a code in value, other than it.
std::vector<int> neighbours(int code) {
  double nearest = 100;
  for (const double v : kValues) {
    if (v != kValues[static_cast<std::size_t>(code)]) {
      nearest = std::min(nearest, std::fabs(v - kValues[static_cast<std::size_t>(code)]));
    }
  }
  std::vector<int> result;
  for (int other = 0; other < 16; ++other) {
    const double d =
        std::fabs(kValues[static_cast<std::size_t>(other)] - kValues[static_cast<std::size_t>(code)]);
    if (d == nearest && other != 8) result.push_back(other);
  }
  return result;
}

// Every element whose code and byte make a covered pair in some output: altering it must fail for at least
// one element of the pair, whichever neighbour it becomes; and nothing that no alteration shows is called
// covered.
TEST(JudgeCoverage, CoveredPairsAreThoseThatAlterationsShow) {
  for (const char* fill : {"exact8", "real", "onehot", "bits"}) {
    const CaseData data = data_of(
        "op=expert_linear weights=mxfp4 tokens=3 experts=2 top_k=1 in=32 out=6 dtype=bf16 seed=21 fill=" +
        std::string(fill));
    const Coverage coverage = coverage_of(data);
    EXPECT_TRUE(coverage.pairs.any()) << fill;
    std::bitset<4096> shown;
    const Tensor norm = norm_of(data);
    auto bytes = data.packed_weights.as<std::uint8_t>();
    for (std::size_t element = 0; element < bytes.size() * 2; ++element) {
      const int shift = element % 2 == 0 ? 0 : 4;
      const int code = (bytes[element / 2] >> shift) & 0xF;
      const int byte = data.scale_bytes.as<std::uint8_t>()[element / 32];
      bool always = true;
      for (const int other : neighbours(code)) {
        CaseData seen = data;
        std::uint8_t& target = seen.packed_weights.as<std::uint8_t>()[element / 2];
        target = static_cast<std::uint8_t>((target & ~(0xF << shift)) | (other << shift));
        const Tensor altered = moe4::test::simulate(seen.inputs(), {parse_order("seq").value()});
        const Verdict verdict = judge(data, declaration_of("seq"), run_of(altered));
        always = always && verdict.status == VerdictStatus::kFailed;
      }
      if (always) shown.set(pair_index(code, byte));
    }
    EXPECT_TRUE((coverage.pairs & ~shown).none()) << fill << ": covered, but no alteration shows it";
    EXPECT_GE(2 * coverage.pairs.count(), shown.count()) << fill << ": the rule misses most of what is shown";
  }
}

TEST(JudgeCoverage, OneScaleByteCoversSixteenPairsAtMost) {
  const CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=16 experts=4 top_k=2 in=128 out=16 dtype=bf16 fill=bits "
      "scales=window(120,120) seed=2");
  const Coverage coverage = coverage_of(data);
  EXPECT_GT(coverage.pairs.count(), 0U);
  EXPECT_LE(coverage.pairs.count(), 16U);
  for (std::size_t k = 0; k < 4096; ++k) EXPECT_TRUE(!coverage.pairs[k] || k % 256 == 120);
  EXPECT_EQ(coverage.outputs, 256);
}

TEST(JudgeCoverage, ZeroTokensAndZeroMixtureCoverNothing) {
  for (const bool tokens : {true, false}) {
    CaseData data = data_of(
        "op=expert_linear weights=mxfp4 tokens=4 experts=2 top_k=1 in=64 out=8 dtype=bf16 fill=real seed=3");
    if (tokens) {
      for (std::uint16_t& x : data.latent_tokens.as<std::uint16_t>()) x = 0;
    } else {
      for (float& p : data.mixture_weights.as<float>()) p = 0;
    }
    EXPECT_TRUE(coverage_of(data).pairs.none());
  }
}

// A term far below the output's last place shows nothing.
TEST(JudgeCoverage, HiddenTermsCoverNothing) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=4 experts=2 top_k=1 in=64 out=8 dtype=bf16 fill=real seed=3");
  for (std::uint16_t& s : data.shared_output.as<std::uint16_t>())
    s = std::bit_cast<std::uint32_t>(0x1p60F) >> 16;
  EXPECT_TRUE(coverage_of(data).pairs.none());
}

// Only the selected expert's bytes count.
TEST(JudgeCoverage, UnselectedExpertsCoverNothing) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=4 experts=2 top_k=1 in=64 out=8 dtype=bf16 fill=real seed=3");
  for (std::int32_t& id : data.selected_experts.as<std::int32_t>()) id = 0;
  auto scales = data.scale_bytes.as<std::uint8_t>();
  std::fill(scales.begin() + static_cast<std::ptrdiff_t>(scales.size() / 2), scales.end(), 200);
  const Coverage coverage = coverage_of(data);
  EXPECT_TRUE(coverage.pairs.any());
  for (int code = 0; code < 16; ++code) EXPECT_FALSE(coverage.pairs[pair_index(code, 200)]);
}

TEST(JudgeCoverage, Byte255CountsWhereItIsTheOnlyCause) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=2 experts=1 top_k=1 in=64 out=20 dtype=bf16 fill=real seed=3");
  auto scales = data.scale_bytes.as<std::uint8_t>();
  scales[2 * 5 + 1] = 255;
  Coverage coverage = coverage_of(data);
  const std::uint8_t* group = data.packed_weights.as<std::uint8_t>().data() + (2 * 5 + 1) * 16;
  for (int code = 0; code < 16; ++code) {
    bool present = false;
    for (int k = 0; k < 16; ++k) present = present || (group[k] & 15) == code || group[k] >> 4 == code;
    EXPECT_EQ(coverage.pairs[pair_index(code, 255)], present) << code;
  }
  // A second NaN behind the same outputs hides the first.
  for (const bool second_group : {true, false}) {
    CaseData hidden = data;
    if (second_group) {
      hidden.scale_bytes.as<std::uint8_t>()[2 * 5] = 255;
    } else {
      for (float& p : hidden.mixture_weights.as<float>()) p = NAN;
      hidden.line->fill = Fill::kNonfinite;
    }
    coverage = coverage_of(hidden);
    for (int code = 0; code < 16; ++code) EXPECT_FALSE(coverage.pairs[pair_index(code, 255)]);
  }
}

// Under scale_nan=formula byte 255 is a number like the others.
TEST(JudgeCoverage, FormulaMakesByte255ANumber) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=8 experts=1 top_k=1 in=64 out=20 dtype=bf16 fill=onehot "
      "scale_nan=formula seed=3");
  for (std::uint8_t& byte : data.scale_bytes.as<std::uint8_t>()) byte = 255;
  for (std::uint16_t& x : data.latent_tokens.as<std::uint16_t>()) {
    if (x != 0) x = std::bit_cast<std::uint32_t>(0x1p-100F) >> 16;
  }
  const Coverage coverage = coverage_of(data);
  EXPECT_GT(coverage.pairs.count(), 2U);
  for (std::size_t k = 0; k < 4096; ++k) EXPECT_TRUE(!coverage.pairs[k] || k % 256 == 255);
}

// Outputs that may overflow accept too much to show anything.
TEST(JudgeCoverage, OutputsThatMayOverflowCoverNothing) {
  CaseData data = data_of(
      "op=expert_linear weights=mxfp4 tokens=2 experts=1 top_k=1 in=32 out=4 dtype=bf16 fill=real seed=3");
  for (std::uint16_t& x : data.latent_tokens.as<std::uint16_t>())
    x = std::bit_cast<std::uint32_t>(0x1p126F) >> 16;
  for (std::uint8_t& byte : data.packed_weights.as<std::uint8_t>()) byte = 0xA2;
  for (std::uint8_t& byte : data.scale_bytes.as<std::uint8_t>()) byte = 128;
  EXPECT_TRUE(coverage_of(data, "any").pairs.none());
}

}  // namespace
}  // namespace moe4::oracle::test
