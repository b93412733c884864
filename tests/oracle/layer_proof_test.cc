// The proof from FP32 products bounds the one element by element, and is no weaker where generators put their
// data.
#include "oracle/generate/layer_proof.h"

#include <algorithm>
#include <cmath>

#include "oracle/faults/scene.h"
#include "oracle/generate/generate.h"
#include "oracle/generate/store.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

double largest(const CaseData& data, int bits) {
  const std::vector<double> units = layer_units(data, output_rows(data), bits);
  return units.empty() ? -1 : *std::max_element(units.begin(), units.end());
}

TEST(LayerProof, BoundsTheProofElementByElement) {
  for (const Op op : {Op::kExpertLinear, Op::kIndexed, Op::kGroupedContiguous, Op::kGroupedMasked}) {
    for (const WeightFormat weights : all_weights()) {
      for (const Fill fill : {Fill::kExact8, Fill::kExact24}) {
        Case c = case_of("tokens=9 experts=5 top_k=2 in=160 out=70 seed=0x2a");
        c.op = op;
        c.weights = weights;
        c.fill = fill;
        const CaseData data = data_of(c);
        const int bits = fill == Fill::kExact8 ? 8 : 24;
        const double fast = largest(data, bits);
        EXPECT_GE(fast, data.proof->largest_units) << to_string(c);
        EXPECT_LE(fast, data.proof->limit_units) << to_string(c);
      }
    }
  }
  EXPECT_TRUE(layer_units(data_of(case_of("op=combine fill=exact24")), {}, 24).empty());
}

// What is not exact must not be proved, whatever spoils it.
TEST(LayerProof, RefusesWhatIsNotExact) {
  const CaseData data = data_of(case_of("tokens=3 experts=2 top_k=2 in=96 out=9 fill=exact24 seed=0x7"));
  ASSERT_LT(largest(data, 24), data.proof->limit_units);
  const std::int64_t expert = load_id(data.selected_experts, 0);

  CaseData scale = data;
  Weights w(scale);
  const unsigned byte_of_group = w.scale(expert, 4, 1);
  w.set_scale(expert, 4, 1, byte_of_group > 25 ? byte_of_group - 25 : byte_of_group + 25);
  EXPECT_GE(largest(scale, 24), data.proof->limit_units);

  CaseData nan = data;
  set_token_bits(nan, 0, 5, 0x7FC0);
  EXPECT_EQ(largest(nan, 24), HUGE_VAL);

  CaseData byte = data;
  Weights(byte).set_scale(expert, 4, 1, 255);
  EXPECT_EQ(largest(byte, 24), HUGE_VAL);

  CaseData shared = data;
  shared.shared_output.as<std::uint16_t>()[0] = 0x7F00;  // 1.7e38
  EXPECT_GE(largest(shared, 24), data.proof->limit_units);

  CaseData fine = data;
  set_token_bits(fine, 0, 5, 0x0001);  // 2^-133: products below what partial sums may hold
  EXPECT_EQ(largest(fine, 24), HUGE_VAL);
}

// A case above the size from which the products are used.
TEST(LayerProof, ALayerIsProvedByIt) {
  const CaseData data =
      data_of(case_of("op=indexed weights=int4 tokens=64 experts=4 top_k=2 in=4096 out=520 fill=exact24"));
  ASSERT_TRUE(data.proof && data.proof->proved);
  EXPECT_EQ(data.proof->largest_units, largest(data, 24));
}

}  // namespace
}  // namespace moe4::oracle
