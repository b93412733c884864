// Small cases on which kernels in use have been wrong, restated for this op. The comment says what the wrong
// kernel gave, where that is a number of its own.
#include <cmath>
#include <limits>

#include "tests/differential/listed_cases.h"
#include "tests/support/problems/build_problem.h"

namespace differential {
namespace {

using namespace problems;
using namespace slow_model;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void set_row_scales(Problem& problem, std::int64_t expert, std::int64_t o, const std::vector<int>& bytes) {
  for (std::size_t g = 0; g < bytes.size(); ++g) {
    set_scale(problem, expert, o, static_cast<std::int64_t>(g), bytes[g]);
  }
}

Problem row_with_scales(const std::vector<int>& bytes) {
  Problem problem = plain_problem({.in = 32 * static_cast<std::int64_t>(bytes.size())});
  set_row_scales(problem, 0, 0, bytes);
  return problem;
}

// Scale decoding.
std::vector<ListedCase> class_a() {
  std::vector<ListedCase> cases;
  Problem zero_byte = plain_problem({});
  set_scales(zero_byte, 0);
  set_tokens(zero_byte, 0x1p122);
  cases.push_back({"A_Byte0IsNotZero", zero_byte, {1.0}});  // a decoder that makes zero of byte 0: 0

  Problem decode =
      plain_problem({.out = 2}, kF32);  // the two rows tell "byte 0 is zero" from "subnormals are flushed"
  set_scales(decode, 0);
  set_tokens(decode, 0.0);
  set_token(decode, 0, 0, 1.0);
  set_code(decode, 0, 0, 0, 7);
  set_code(decode, 0, 1, 0, 1);
  cases.push_back({"A_Byte0SubnormalProduct", decode, {0x6p-127, 0x1p-128}});

  cases.push_back({"A_Byte134IsNotNan", row_with_scales({134, 127}), {4128.0}});

  Problem tail_bits = plain_problem({.tokens = 9});
  set_codes(tail_bits, 0);
  set_code(tail_bits, 0, 0, 0, 1);
  set_scales(tail_bits, 0);
  set_tokens(tail_bits, 0x1p120);
  cases.push_back({"A_HalfAtByte0ForEveryRow", tail_bits, std::vector<double>(9, 0x1p-8)});

  Problem placeholder = plain_problem({.experts = 2, .out = 3});
  set_row_scales(placeholder, 0, 0, {120});
  set_row_scales(placeholder, 0, 1, {127});
  set_row_scales(placeholder, 0, 2, {0});
  for (std::int64_t o = 0; o < 3; ++o) set_scale(placeholder, 1, o, 0, 0);
  cases.push_back({"A_PlaceholderScales", placeholder, {0.25, 32.0, 0x1p-122}});

  Problem sweep = plain_problem({.out = 256}, kF64);
  std::vector<double> powers;
  for (int byte = 0; byte < 256; ++byte) {
    set_scale(sweep, 0, byte, 0, byte);
    powers.push_back(byte == 255 ? kNaN : std::ldexp(32.0, byte - 127));
  }
  cases.push_back({"A_EveryByteOneNan", sweep, powers});
  return cases;
}

// Meaning of the codes.
std::vector<ListedCase> class_b() {
  std::vector<ListedCase> cases;
  Problem order = plain_problem({.tokens = 2});
  order.packed_weights.assign(16, 0x64);
  set_tokens(order, 0.0);
  set_token(order, 0, 0, 1.0);
  set_token(order, 1, 1, 1.0);
  cases.push_back({"B_LowNibbleFirst", order, {2.0, 4.0}});  // high nibble first: 4, 2

  Problem halves = plain_problem({.tokens = 2});  // 1 in the first 16 elements, 4 in the others
  for (std::int64_t i = 16; i < 32; ++i) set_code(halves, 0, 0, i, 6);
  set_tokens(halves, 0.0);
  set_token(halves, 0, 1, 1.0);
  set_token(halves, 1, 30, 1.0);
  cases.push_back({"B_NibblesAreInterleaved", halves, {1.0, 4.0}});

  Problem rows = plain_problem({.in = 64, .out = 2});
  for (std::int64_t g = 0; g < 2; ++g) set_group(rows, 0, 1, g, 4);
  cases.push_back({"B_RowStrideInHalfBytes", rows, {64.0, 128.0}});  // a row taken twice as long: 192

  Problem signs = plain_problem({.out = 16});
  for (int code = 0; code < 16; ++code) set_group(signs, 0, code, 0, code);
  cases.push_back(
      {"B_EveryCode", signs, {0, 16, 32, 48, 64, 96, 128, 192, 0, -16, -32, -48, -64, -96, -128, -192}});
  return cases;
}

// 64 tokens that each read one element, against 16 rows of 8 groups.
Problem scale_probe() {
  Problem problem = plain_problem({.tokens = 64, .in = 256, .out = 16});
  set_tokens(problem, 0.0);
  for (std::int64_t t = 0; t < 64; ++t) set_token(problem, t, 4 * t, 1.0);
  return problem;
}

// Which scale is read.
std::vector<ListedCase> class_c() {
  std::vector<ListedCase> cases;
  cases.push_back({"C_FourGroups", row_with_scales({127, 128, 129, 130}), {480.0}});  // group 0 for all: 128

  Problem two_tokens = plain_problem({.tokens = 2, .in = 128});
  set_row_scales(two_tokens, 0, 0, {127, 128, 129, 130});
  cases.push_back({"C_FourGroupsTwoTokens", two_tokens, {480.0, 480.0}});

  cases.push_back({"C_SecondShardOfFour", row_with_scales({129, 130}), {384.0}});

  Problem by_row = scale_probe();
  Problem by_group = scale_probe();
  std::vector<double> row_names, group_names;
  for (int t = 0; t < 64; ++t) {
    for (int o = 0; o < 16; ++o) {
      row_names.push_back(std::ldexp(1.0, 60 + o - 127));
      group_names.push_back(std::ldexp(1.0, 60 + 4 * t / 32 - 127));
    }
  }
  for (int o = 0; o < 16; ++o) {
    for (int g = 0; g < 8; ++g) {
      set_scale(by_row, 0, o, g, 60 + o);
      set_scale(by_group, 0, o, g, 60 + g);
    }
  }
  cases.push_back({"C_ScaleNamesItsRow", by_row, row_names});
  cases.push_back({"C_ScaleNamesItsGroup", by_group, group_names});

  Problem odd_stride = plain_problem({.in = 96, .out = 2});
  set_row_scales(odd_stride, 0, 1, {128, 128, 128});
  cases.push_back({"C_ThreeGroupsARow", odd_stride, {96.0, 192.0}});

  cases.push_back({"C_ElevenGroups",
                   row_with_scales({127, 127, 127, 127, 127, 127, 127, 127, 127, 127, 130}),
                   {576.0}});  // the last of an odd number lost: 320

  Problem per_expert = plain_problem({.experts = 4, .in = 64, .top_k = 2});
  for (int e = 0; e < 4; ++e) set_row_scales(per_expert, e, 0, {127 + e, 131 + e});
  per_expert.selected_experts = {3, 1};
  cases.push_back({"C_ScalesOfTheExpert", per_expert, {32.0 * (8 + 128) + 32.0 * (2 + 32)}});
  return cases;
}

// The end of I.
std::vector<ListedCase> class_d() {
  std::vector<ListedCase> cases;
  for (const int in : {32, 96, 160, 352, 544, 608, 2880}) {
    Problem problem = plain_problem({.in = in}, kF32);
    cases.push_back({"D_Width" + std::to_string(in), problem, {static_cast<double>(in)}});
    // What lies behind the selected expert is loud.
    Problem last = plain_problem({.experts = 2, .in = in}, kF32);
    for (std::int64_t g = 0; g < in / 32; ++g) {
      set_group(last, 1, 0, g, 7);
      set_scale(last, 1, 0, g, 200);
    }
    cases.push_back({"D_LoudNeighbour" + std::to_string(in), last, {static_cast<double>(in)}});
  }
  Problem sorted = plain_problem({.tokens = 16, .experts = 8, .in = 96});
  Problem unsorted = sorted;
  for (std::int64_t t = 0; t < 16; ++t) {
    sorted.selected_experts[static_cast<std::size_t>(t)] = t / 2;
    unsorted.selected_experts[static_cast<std::size_t>(t)] = t * 5 % 8;
  }
  cases.push_back({"D_SortedByExpert", sorted, std::vector<double>(16, 96.0)});
  cases.push_back({"D_NotSortedByExpert", unsorted, std::vector<double>(16, 96.0)});

  Problem nan_row = plain_problem({.tokens = 2, .in = 96});
  for (std::int64_t i = 0; i < 96; ++i) set_token(nan_row, 1, i, kNaN);
  cases.push_back({"D_NextTokenIsNan", nan_row, {96.0, kNaN}});
  Problem nan_first = nan_row;
  nan_first.latent_tokens.bits.assign(nan_row.latent_tokens.bits.rbegin(), nan_row.latent_tokens.bits.rend());
  cases.push_back({"D_PreviousTokenIsNan", nan_first, {kNaN, 96.0}});

  Problem last_element = plain_problem({.in = 96});
  set_tokens(last_element, 0.0);
  set_token(last_element, 0, 95, 3.0);
  cases.push_back({"D_LastElementAlone", last_element, {3.0}});
  return cases;
}

// Degenerate routing.
std::vector<ListedCase> class_g() {
  std::vector<ListedCase> cases;
  Problem repeated = plain_problem({.tokens = 2, .experts = 6, .top_k = 4});
  repeated.selected_experts = {0, 1, 2, 3, 5, 5, 5, 5};
  set_p(repeated, kF32, {0.25, 0.25, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0});
  set_shared(repeated, kBf16, {1.0, -7.0});
  cases.push_back({"G_RepeatedIdWithoutWeight", repeated, {33.0, -7.0}});

  Problem exhausted = plain_problem({.experts = 2, .top_k = 3});
  exhausted.selected_experts = {1, 0, -1};
  exhausted.policy.ids = Ids::kAbsent;
  set_p(exhausted, kF32, {0.75, 0.25, 0.0});
  cases.push_back({"G_PaddedSlot", exhausted, {32.0}});

  Problem absent = plain_problem({.tokens = 3, .experts = 2, .top_k = 2});
  absent.selected_experts = {0, 1, -1, -1, 1, 0};
  absent.policy.ids = Ids::kAbsent;
  set_p(absent, kF32, {1.0, 1.0, kNaN, kNaN, 1.0, 1.0});
  set_shared(absent, kBf16, {1.0, 2.0, 3.0});
  cases.push_back({"G_PaddingRowWithNanWeights", absent, {65.0, 2.0, 67.0}});
  return cases;
}

// Routing weights and the shared output.
std::vector<ListedCase> class_h() {
  std::vector<ListedCase> cases;
  Problem half = plain_problem({});
  set_p(half, kBf16, {0.5});
  cases.push_back({"H_POnce", half, {16.0}});  // twice: 8; never: 32

  Problem factor = plain_problem({});
  set_p(factor, kBf16, {2.5});
  set_shared(factor, kBf16, {10.0});
  cases.push_back({"H_FactorOnTheRoutedSumOnly", factor, {90.0}});  // twice: 210; on shared too: 105

  Problem two_paths = plain_problem({.experts = 2, .top_k = 2});
  set_p(two_paths, kBf16, {0.75, 0.75});
  cases.push_back({"H_FactorOnBothExperts", two_paths, {48.0}});  // 2.25 on one: 60

  Problem nothing_routed = plain_problem({.experts = 2, .top_k = 2});
  set_p(nothing_routed, kBf16, {0.0, 0.0});
  set_shared(nothing_routed, kBf16, {10.0});
  cases.push_back({"H_NoWeightLeavesShared", nothing_routed, {10.0}});

  Problem softmax = plain_problem({.experts = 2, .top_k = 2});
  set_scale(softmax, 1, 0, 0, 128);
  set_p(softmax, kBf16, {0.75, 0.25});
  cases.push_back({"H_PBelongsToItsSlot", softmax, {40.0}});  // swapped: 56
  softmax.selected_experts = {1, 0};
  cases.push_back({"H_PBelongsToItsSlotSwapped", softmax, {56.0}});

  Problem third = plain_problem({});
  set_codes(third, 7);
  set_scales(third, 131);
  third.mixture_weights = {kF32, {0x3E99999A}};            // 0.3 in F32
  cases.push_back({"H_F32PNotNarrowed", third, {920.0}});  // p in BF16: 924

  Problem nine_tenths = plain_problem({.experts = 2, .top_k = 2});
  set_scale(nine_tenths, 0, 0, 0, 130);
  set_p(nine_tenths, kF32, {0.875, 0.125});
  set_shared(nine_tenths, kBf16, {1.0});
  cases.push_back({"H_FractionsSurvive", nine_tenths, {0.875 * 256 + 0.125 * 32 + 1}});  // p as an integer: 1
  return cases;
}

Problem slots_of_one(int slots, double shared) {
  Problem problem = plain_problem({.experts = 2, .top_k = slots});
  set_p(problem, kF32, std::vector<double>(static_cast<std::size_t>(slots), 0x1p-5));
  set_shared(problem, kBf16, {shared});
  for (std::int64_t& id : problem.selected_experts) id = 0;
  return problem;
}

// Rounding, order, range.
std::vector<ListedCase> class_i() {
  std::vector<ListedCase> cases;
  Problem descending = slots_of_one(8, 0.0);
  descending.selected_experts[0] = 1;
  set_scale(descending, 1, 0, 0, 135);                       // slot 0 gives 256, the others 1
  cases.push_back({"I_SumOverSlots", descending, {264.0}});  // running BF16 sum: 256
  Problem ascending = descending;
  std::swap(ascending.selected_experts[0], ascending.selected_experts[7]);
  cases.push_back({"I_SumOverSlotsReversed", ascending, {264.0}});

  cases.push_back({"I_SharedThenEightSlots", slots_of_one(8, 256.0), {264.0}});  // running BF16 sum: 256

  Problem half_way = plain_problem({.in = 256}, kF16);  // partial sums of 128 reach -65536
  set_codes(half_way, 12);
  for (std::int64_t i = 0; i < 256; ++i) set_token(half_way, 0, i, i < 128 ? 256.0 : -256.0);
  cases.push_back({"I_PartialSumsBeyondF16", half_way, {0.0}});

  for (const int tokens : {1, 2, 4, 5, 8, 16}) {
    Problem batch = plain_problem({.tokens = tokens});
    set_tokens(batch, 0.0);
    for (std::int64_t t = 0; t < tokens; ++t) {
      set_token(batch, t, 0, 0x1p24);
      set_token(batch, t, 1, 1.0);
      set_token(batch, t, 2, -0x1p24);
    }
    cases.push_back({"I_CancellingBatch" + std::to_string(tokens), batch,
                     std::vector<double>(static_cast<std::size_t>(tokens), 1.0)});  // left to right in F32: 0
  }

  Problem small_scale = plain_problem({});
  set_scales(small_scale, 20);
  set_tokens(small_scale, 0x1p100);
  cases.push_back({"I_SmallScale", small_scale, {0.25}});

  Problem sweep = plain_problem({.tokens = 3, .out = 255}, kF64);
  std::vector<double> expected;
  for (std::int64_t t = 0; t < 3; ++t) {
    const double x = std::ldexp(1.0, static_cast<int>(100 * (t - 1)));
    for (std::int64_t i = 0; i < 32; ++i) set_token(sweep, t, i, x);
    for (int byte = 0; byte < 255; ++byte) expected.push_back(std::ldexp(32.0 * x, byte - 127));
  }
  for (int byte = 0; byte < 255; ++byte) set_scale(sweep, 0, byte, 0, byte);
  cases.push_back({"I_EveryScaleThreeTokens", sweep, expected});
  return cases;
}

}  // namespace

std::vector<ListedCase> fault_cases() {
  std::vector<ListedCase> cases;
  for (auto family : {class_a, class_b, class_c, class_d, class_g, class_h, class_i}) {
    for (ListedCase& listed : family()) cases.push_back(std::move(listed));
  }
  return cases;
}

}  // namespace differential
