// DATA-42 … DATA-48: one layer under every operation.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "oracle/generate/store.h"
#include "reference/arithmetic/round.h"
#include "reference/formats/float_format.h"
#include "reference/linear/row_dot.h"
#include "reference/routing/contract.h"
#include "tests/oracle/op_support.h"

namespace moe4::oracle {
namespace {

// The bits of each route's row, in route order; routes without one are absent.
std::map<std::int64_t, std::vector<std::uint16_t>> rows_of_routes(Case c) {
  const CaseData data = data_of(c);
  const Norm norm = norm_of_data(data);
  const std::span<const std::uint16_t> bits = norm.output.as<std::uint16_t>();
  const auto out = static_cast<std::size_t>(c.out);
  std::map<std::int64_t, std::vector<std::uint16_t>> rows;
  const auto put = [&](std::int64_t route, std::int64_t row) {
    const auto first = bits.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * out);
    rows[route] = {first, first + static_cast<std::ptrdiff_t>(out)};
  };
  // Expert by expert, rows of grouped operations lie in the order of their routes (RTE-34).
  std::map<std::int64_t, std::vector<std::int64_t>> routes;
  c.op = Op::kIndexed;
  c.layout.reset();
  c.block_m.reset();
  c.max_m.reset();
  c.capacity.reset();
  c.expected_m.reset();
  if (c.routing == Routing::kSentinel) c.routing = Routing::kUniform;
  const CaseData by_route = data_of(c);
  for (const OutputRow& row : output_rows(by_route)) routes[row.slots[0].expert].push_back(row.row);
  std::map<std::int64_t, std::size_t> next;
  for (const OutputRow& row : output_rows(data)) {
    const std::int64_t e = row.slots[0].expert;
    if (data.op == Op::kIndexed) {
      put(row.row, row.row);
    } else {
      put(routes[e].at(next[e]++), row.row);
    }
  }
  return rows;
}

TEST(Operations, SameRowsUnderEveryContract) {
  for (const WeightFormat weights : all_weights()) {
    for (const Fill fill : all_fills()) {
      Case c = case_of("op=indexed tokens=9 experts=6 top_k=2 in=64 out=3 seed=5");
      c.weights = weights;
      c.fill = fill;
      const auto due = rows_of_routes(c);
      ASSERT_EQ(due.size(), 18u);
      for (const char* line : {"op=indexed block_m=8 routing=sentinel", "op=indexed block_m=3 capacity=200",
                               "op=grouped_contiguous", "op=grouped_contiguous block_m=8 capacity=300",
                               "op=grouped_contiguous block_m=16 routing=sentinel", "op=grouped_masked",
                               "op=grouped_masked max_m=11 expected_m=7"}) {
        Case other = case_of(std::string(line) + " tokens=9 experts=6 top_k=2 in=64 out=3 seed=5");
        other.weights = weights;
        other.fill = fill;
        EXPECT_EQ(rows_of_routes(other), due) << to_string(other);
      }
    }
  }
}

TEST(Operations, CombineSumsTheRowsOfIndexed) {
  for (const WeightFormat weights : all_weights()) {
    for (const Fill fill : all_fills()) {
      Case c = case_of("op=indexed tokens=5 experts=6 top_k=3 in=64 out=3 seed=5");
      c.weights = weights;
      c.fill = fill;
      if (fill == Fill::kTies) continue;  // DATA-43: other columns without a shared output
      const Norm rows = norm_of_data(data_of(c));
      c.op = Op::kCombine;
      const CaseData combine = data_of(c);
      ASSERT_EQ(combine.rows.bytes(), rows.output.bytes());
      EXPECT_EQ(std::memcmp(combine.rows.data(), rows.output.data(), rows.output.bytes()), 0) << to_string(c);
      EXPECT_FALSE(combine.has_selected_experts);
    }
  }
}

TEST(Operations, ExactFillsAddUpToTheExpertLinear) {
  for (const WeightFormat weights : all_weights()) {
    Case c = case_of("tokens=5 experts=6 top_k=3 in=64 out=3 fill=exact8");
    c.weights = weights;
    const Norm linear = norm_of_data(data_of(c));
    c.op = Op::kCombine;
    const Norm combined = norm_of_data(data_of(c));
    ASSERT_EQ(linear.output.bytes(), combined.output.bytes());
    EXPECT_EQ(std::memcmp(linear.output.data(), combined.output.data(), linear.output.bytes()), 0);
  }
}

// The contracts that kernels rely on hold for every case that is drawn (RTE-17 … RTE-28).
TEST(Operations, ServingContractsHold) {
  for (const Routing routing : all_routings()) {
    for (const Op op : row_ops()) {
      Case c = case_of("tokens=40 experts=6 top_k=2 in=128 out=128");
      c.op = op;
      c.weights = WeightFormat::kInt4;
      c.routing = routing;
      if (validate_case(c)) continue;
      const CaseData data = data_of(c);
      if (op == Op::kIndexed) {
        const Status status = validate_contract(data.indexed());
        EXPECT_FALSE(status) << to_string(c) << status->message();
      } else if (op == Op::kGroupedContiguous) {
        const Status status = validate_contract(data.grouped_contiguous(), PaddingRows::kAny);
        EXPECT_FALSE(status) << to_string(c) << status->message();
      } else {
        for (const std::int64_t tile : {16, 64, 128}) {
          const Status status = validate_contract(data.grouped_masked(), tile);
          EXPECT_FALSE(status) << to_string(c) << status->message();
        }
      }
    }
  }
}

TEST(Operations, WhatMayNotBeReadIsPoison) {
  const CaseData indexed = data_of("op=indexed tokens=9 experts=4 top_k=2 in=32 out=4 capacity=400");
  const auto ids = indexed.sorted_ids.as<std::int32_t>();
  const auto experts = indexed.expert_ids.as<std::int32_t>();
  const std::int32_t n = indexed.num_tokens_padded.as<std::int32_t>()[0];
  ASSERT_EQ(ids.size(), 400u);
  ASSERT_EQ(experts.size(), 25u);
  ASSERT_LT(n, 400);
  for (std::size_t r = static_cast<std::size_t>(n); r < ids.size(); ++r)
    EXPECT_LT(ids[r], 18) << "a real row";
  for (std::size_t b = static_cast<std::size_t>(n / 16); b < experts.size(); ++b)
    EXPECT_EQ(experts[b], 0x7FFFFFFF);

  for (const char* line : {"op=grouped_contiguous tokens=9 experts=4 top_k=2 in=32 out=4 capacity=700",
                           "op=grouped_masked tokens=9 experts=4 top_k=2 in=32 out=4"}) {
    const CaseData data = data_of(line);
    std::set<std::int64_t> used;
    for (const OutputRow& row : output_rows(data)) used.insert(row.source);
    EXPECT_EQ(used.size(), 18u);
    const auto bits = data.latent_tokens.as<std::uint16_t>();
    for (std::size_t k = 0; k < bits.size(); ++k) {
      const bool nan = (bits[k] & 0x7FFF) > 0x7F80;
      EXPECT_EQ(nan, used.count(static_cast<std::int64_t>(k / 32)) == 0) << line << " " << k;
    }
  }
}

TEST(Operations, SentinelLeavesRoomInsideAndNamesNothing) {
  const CaseData data =
      data_of("op=indexed routing=sentinel tokens=60 experts=4 top_k=2 in=32 out=1 block_m=8");
  const auto ids = data.sorted_ids.as<std::int32_t>();
  const std::int32_t n = data.num_tokens_padded.as<std::int32_t>()[0];
  std::set<std::int32_t> sentinels;
  int blocks_of_nothing = 0;
  for (std::int32_t b = 0; b < n / 8; ++b) {
    bool any = false;
    for (std::int32_t r = 8 * b; r < 8 * b + 8; ++r) {
      const std::int32_t id = ids[static_cast<std::size_t>(r)];
      if (id >= 120) sentinels.insert(id);
      any = any || id < 120;
    }
    blocks_of_nothing += !any;
  }
  EXPECT_GT(blocks_of_nothing, 2);
  EXPECT_GT(sentinels.size(), 10u);
  EXPECT_EQ(sentinels.count(120), 1u) << "the usual one too";
  EXPECT_EQ(output_rows(data).size(), 120u);
}

// The same blocks of the same ids as `uniform`, but for their order inside of an expert: RTE-20 holds, and id
// 0 stands late in a block, and in a later block than greater ids.
TEST(Operations, UnsortedIdsKeepTheirExpert) {
  int descents = 0, late_zeros = 0, zeros_in_later_blocks = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    const std::string line =
        " tokens=30 experts=3 top_k=2 in=32 out=1 block_m=8 seed=" + std::to_string(seed);
    const CaseData sorted = data_of("op=indexed routing=uniform" + line);
    const CaseData data = data_of("op=indexed routing=unsorted" + line);
    const auto ids = data.sorted_ids.as<std::int32_t>(), usual = sorted.sorted_ids.as<std::int32_t>();
    const auto experts = data.expert_ids.as<std::int32_t>();
    ASSERT_TRUE(std::equal(experts.begin(), experts.end(), sorted.expert_ids.as<std::int32_t>().begin()));
    const auto n = static_cast<std::size_t>(data.num_tokens_padded.as<std::int32_t>()[0]);
    ASSERT_EQ(ids.size(), usual.size());
    std::map<std::int32_t, std::multiset<std::int32_t>> own, due;
    for (std::size_t at = 0; at < n; ++at) {
      own[experts[at / 8]].insert(ids[at]);
      due[experts[at / 8]].insert(usual[at]);
      EXPECT_EQ(ids[at] >= 60, usual[at] >= 60) << "padding stays behind the ids";
      if (at % 8 != 0 && ids[at] < 60) descents += ids[at] < ids[at - 1];
      if (ids[at] != 0) continue;
      late_zeros += at % 8 != 0;
      zeros_in_later_blocks += at >= 8 && experts[at / 8] == experts[at / 8 - 1];
    }
    EXPECT_EQ(own, due);
    EXPECT_TRUE(std::equal(ids.begin() + static_cast<std::ptrdiff_t>(n), ids.end(),
                           usual.begin() + static_cast<std::ptrdiff_t>(n)));
  }
  EXPECT_GT(descents, 500);
  EXPECT_GT(late_zeros, 20);
  EXPECT_GT(zeros_in_later_blocks, 10);
}

TEST(Operations, MinusOneLeavesRoutesOut) {
  for (const Op op : row_ops()) {
    Case c = case_of("tokens=60 experts=4 top_k=2 in=32 out=1");
    c.op = op;
    c.routing = Routing::kMinusOne;
    const std::size_t rows = output_rows(data_of(c)).size();
    EXPECT_GT(rows, 60u);
    EXPECT_LT(rows, 110u);
  }
  const CaseData combine = data_of("op=combine routing=minus_one tokens=60 experts=4 top_k=2 in=32 out=1");
  ASSERT_TRUE(combine.has_selected_experts);
  int absent = 0, without = 0;
  for (const OutputRow& row : output_rows(combine)) {
    absent += 2 - static_cast<int>(row.slots.size());
    without += row.slots.empty();
  }
  EXPECT_GT(absent, 20);
  EXPECT_GT(without, 2) << "no token without any expert";
}

TEST(Operations, RanksOfAnExpertParallelSplitAddUp) {
  for (const WeightFormat weights : all_weights()) {
    for (const Op op : row_ops()) {
      Case whole = case_of("tokens=9 experts=8 top_k=3 in=64 out=3");
      whole.weights = weights;
      whole.op = op;
      whole.fill = Fill::kBits;
      const auto due = rows_of_routes(whole);
      std::map<std::int64_t, std::vector<std::uint16_t>> all;
      for (std::int64_t rank = 0; rank < 4; ++rank) {
        Case part = whole;
        part.ep = ExpertRank{rank, 4};
        for (auto& [route, row] : rows_of_routes(part)) {
          EXPECT_EQ(all.count(route), 0u) << "two ranks have route " << route;
          all[route] = row;
        }
      }
      EXPECT_EQ(all, due);
    }
  }
}

TEST(Operations, NoRoomIsAnError) {
  for (const char* line :
       {"op=indexed tokens=40 top_k=1 in=32 capacity=47", "op=grouped_contiguous tokens=3 capacity=127",
        "op=grouped_masked tokens=40 max_m=39"}) {
    const Result<CaseData> data = generate(case_of(line));
    ASSERT_FALSE(data) << line;
    EXPECT_EQ(data.error().rule.substr(0, 7), "DATA-44") << line;
  }
  EXPECT_TRUE(generate(case_of("op=indexed tokens=40 top_k=1 in=32 capacity=48")));
  EXPECT_TRUE(generate(case_of("op=grouped_masked tokens=40 max_m=40")));
}

TEST(Operations, EmptyWorkIsGenerated) {
  for (const Op op : all_ops()) {
    for (const char* shape :
         {"tokens=0 experts=4 top_k=2 in=64 out=8", "tokens=3 experts=4 top_k=2 in=64 out=0",
          "tokens=0 experts=0 top_k=1 in=32 out=0"}) {
      Case c;
      const std::string line = std::string(shape) + " op=" + std::string(name_of(op));
      if (!parse_case(line)) continue;
      const CaseData data = data_of(line);
      EXPECT_FALSE(validate(data)) << line << ": " << validate(data)->message();
      EXPECT_EQ(output_shape(data).rows * output_shape(data).out, norm_of_data(data).output.elements())
          << line;
    }
  }
}

TEST(Operations, RowTiesAreMidpoints) {
  for (const WeightFormat weights : all_weights()) {
    Case c = case_of("op=indexed tokens=9 experts=6 top_k=2 in=96 out=9 fill=ties");
    c.weights = weights;
    const CaseData data = data_of(c);
    const WeightReader reader(data.expert_weights(), data.policy);
    const Elements<2> tokens(data.latent_tokens.view());
    int even = 0, odd = 0;
    for (const OutputRow& row : output_rows(data)) {
      std::vector<ExactValue> x;
      for (std::int64_t i = 0; i < 96; ++i) x.push_back(tokens.value({row.source, i}));
      for (std::int64_t o = 0; o < 9; ++o) {
        const DotSum sum = row_dot(reader, row.slots[0].expert, o, x);
        const WideMagnitude magnitude = sum.finite().leading();
        ASSERT_FALSE(magnitude.sticky);
        // Nine significant bits, the last one set: a midpoint of BF16's eight.
        EXPECT_EQ(magnitude.significand << 9, 0u);
        EXPECT_NE(magnitude.significand & (std::uint64_t{1} << 55), 0u);
        ((magnitude.significand >> 56) % 2 == 0 ? even : odd)++;
      }
    }
    EXPECT_GT(even, 30);
    EXPECT_GT(odd, 30);
  }
}

// What a sum of fma makes of column 0 of a token, each rounded to nearest or towards zero.
std::uint16_t combined_by_fma(const CaseData& data, std::int64_t t, bool to_zero) {
  const auto number = [](const Tensor& tensor, std::int64_t index) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(
        round_to(kF32, decode_float(format_of(tensor.dtype()), load_float_bits(tensor, index)))));
  };
  const std::int64_t out = data.rows.shape()[1], top_k = data.mixture_weights.shape()[1];
  float sum = number(data.shared_output, t * out);
  for (std::int64_t slot = t * top_k; slot < (t + 1) * top_k; ++slot) {
    const float p = number(data.mixture_weights, slot), r = number(data.rows, slot * out);
    const double product = static_cast<double>(p) * static_cast<double>(r);  // exact
    const double near = product + static_cast<double>(sum);
    sum = std::fmaf(p, r, sum);
    if (to_zero && std::fabs(static_cast<double>(sum)) > std::fabs(near)) sum = std::nextafterf(sum, 0.0f);
  }
  return static_cast<std::uint16_t>(round_to(kBF16, decode_float(kF32, std::bit_cast<std::uint32_t>(sum))));
}

// DATA-51: a sum that is truncated shows; on data that does not cancel it does not.
TEST(Operations, CombineShowsHowItsSumIsRounded) {
  const auto differing = [](const std::string& fill) {
    const CaseData data =
        data_of("op=combine tokens=64 experts=12 top_k=6 in=64 out=2 dtype=bf16 fill=" + fill);
    int count = 0;
    for (std::int64_t t = 0; t < 64; t += 2) {
      count += combined_by_fma(data, t, false) != combined_by_fma(data, t, true) ? 1 : 0;
    }
    return count;
  };
  EXPECT_GE(differing("slab_cancel"), 24);
  EXPECT_EQ(differing("real"), 0);
}

// DATA-51: an odd token's products are ties of BF16 only once they are rounded to FP32.
TEST(Operations, CombineHasProductsThatBecomeTies) {
  const CaseData data =
      data_of("op=combine tokens=64 experts=12 top_k=6 in=64 out=2 dtype=bf16 fill=slab_cancel");
  int ties = 0;
  for (std::int64_t t = 1; t < 64; t += 2) {
    for (std::int64_t slot = t * 6; slot < (t + 1) * 6; ++slot) {
      const auto value = [](const Tensor& tensor, std::int64_t index) {
        return std::bit_cast<double>(
            round_to(kF64, decode_float(format_of(tensor.dtype()), load_float_bits(tensor, index))));
      };
      const double product = value(data.mixture_weights, slot) * value(data.rows, slot * 2);
      const auto rounded = static_cast<float>(product);
      const bool tie = (std::bit_cast<std::uint32_t>(rounded) & 0xFFFFu) == 0x8000u;
      ties += tie && static_cast<double>(rounded) != product ? 1 : 0;
    }
  }
  EXPECT_GE(ties, 48);  // of 192
}

TEST(Operations, LayoutsHoldTheSameWeights) {
  for (const WeightLayout* layout : weight_layouts()) {
    for (const Op op : all_ops()) {
      const std::string line = "op=" + std::string(name_of(op)) + " weights=" + std::string(layout->weights) +
                               " layout=" + std::string(layout->name) +
                               " tokens=3 experts=4 top_k=2 in=128 out=64 fill=bits routing=poison";
      if (!parse_case(line)) continue;
      const CaseData data = data_of(line);
      ASSERT_EQ(data.layout, layout);
      Result<WeightTensors> back = unpack(*layout, data.packed.views());
      ASSERT_TRUE(back.ok());
      EXPECT_EQ(std::memcmp(back->codes.data(), data.packed_weights.data(), back->codes.bytes()), 0) << line;
      EXPECT_EQ(std::memcmp(back->scales.data(), data.scale_tensor().data(), back->scales.bytes()), 0)
          << line;
    }
  }
}

}  // namespace
}  // namespace moe4::oracle
