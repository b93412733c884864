// RTE-17 to RTE-28: every breach of a serving contract, by its message, next to a call that keeps it; and
// that the norm itself does not mind.
#include <gtest/gtest.h>

#include "reference/routing/contract.h"
#include "reference/routing/grouped_rows.h"
#include "tests/reference/problem.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

constexpr char kAccepted[] = "";

// 3 tokens × 2 slots, 3 experts, aligned for blocks of 8.
struct Indexed {
  Layer layer{WeightFormat::kInt4, 3, 3, 64, 128};
  AlignedRoutes routing = align_blocks({3, 2, {0, 2, 2, 0, 0, 2}}, 3, 8);  // blocks of experts 0 and 2
};

template <class Change>
std::string indexed_refusal(const Change& change, bool norm_accepts = true) {
  Indexed call;
  change(call);
  const IndexedInputs in = indexed_inputs(call.layer, call.routing);
  EXPECT_EQ(validate_indexed(in).ok(), norm_accepts);
  return message_of(validate_contract(in));
}

TEST(ContractIndexed, Kept) {
  EXPECT_EQ(indexed_refusal([](Indexed&) {}), kAccepted);
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.num_tokens_padded = 0; }), kAccepted);
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing = with_tail(c.routing, 21, -1, -1); }), kAccepted);
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.layer = Layer(WeightFormat::kMxfp4, 3, 3, 64, 256); }),
            kAccepted);
}

TEST(ContractIndexed, CountIsAMultipleOfTheBlock) {
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.num_tokens_padded = 12; }),
            "num_tokens_padded: value 12: RTE-19: the count is a multiple of block_m = 8");
}

TEST(ContractIndexed, CountWithinTheCapacity) {
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.num_tokens_padded = 24; }, false),
            "num_tokens_padded: value 24: RTE-7: the count is in 0..16, the capacity of sorted_ids");
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.num_tokens_padded = -8; }, false),
            "num_tokens_padded: value -8: RTE-7: the count is in 0..16, the capacity of sorted_ids");
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.expert_ids.pop_back(); }, false),
            "expert_ids: value [1]: RTE-7: there is an expert for each of the 2 active blocks");
}

TEST(ContractIndexed, NegativeAndDuplicateIds) {
  EXPECT_EQ(
      indexed_refusal([](Indexed& c) { c.routing.sorted_ids[15] = -1; }, false),
      "sorted_ids: value position 15, id -1: RTE-7: no id is negative; a sentinel is M * top_k or more");
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.sorted_ids[3] = 0; }, false),
            "sorted_ids: value position 3, id 0: RTE-7: no row is named twice; this is a duplicate");
}

TEST(ContractIndexed, NoRowAfterASentinelInABlock) {
  EXPECT_EQ(indexed_refusal([](Indexed& c) { std::swap(c.routing.sorted_ids[2], c.routing.sorted_ids[5]); }),
            "sorted_ids: value position 5, id 4: RTE-20: in a block no id that names a row stands after a "
            "sentinel");
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.sorted_ids[4] = 1000; }), kAccepted)
      << "sentinels may differ, and the next block begins with a row";
}

TEST(ContractIndexed, ExpertsInRange) {
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.routing.expert_ids[1] = 3; }, false),
            "expert_ids: value block 1, expert 3: RTE-7: the expert of a row is in 0..2");
  EXPECT_EQ(indexed_refusal([](Indexed& c) {
              for (int r = 8; r < 16; ++r) c.routing.sorted_ids[static_cast<std::size_t>(r)] = 6;
              c.routing.expert_ids[1] = -1;
            }),
            "expert_ids: value block 1, expert -1: RTE-21: the expert of every active block is in 0..2");
}

TEST(ContractIndexed, Shapes) {
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.layer = Layer(WeightFormat::kInt4, 3, 3, 64, 192); }),
            "O: value 192: RTE-18: O is a multiple of 128");
  EXPECT_EQ(indexed_refusal([](Indexed& c) { c.layer = Layer(WeightFormat::kInt4, 3, 3, 96, 128); }),
            "I: value 96: RTE-18: I is a multiple of 64");
  EXPECT_EQ(indexed_refusal([](Indexed& c) {
              c.routing = align_blocks({3, 2, {0, 2, 2, 0, 0, 2}}, 3, 12);
            }),
            "block_m: value 12: RTE-18: block_m is a multiple of 8");
  EXPECT_EQ(indexed_refusal([](Indexed& c) {
              c.layer = Layer(WeightFormat::kInt4, 0, 3, 64, 128);
              c.routing = align_blocks({0, 2, {}}, 3, 8);
            }),
            "M: value 0: RTE-17: M is at least 1");
  Indexed call;
  IndexedInputs in = indexed_inputs(call.layer, call.routing);
  in.latent_tokens.strides = {0, 1};
  EXPECT_EQ(message_of(validate_contract(in)),
            "latent_tokens: value strides [0,1]: RTE-17: tensors are contiguous");
}

// 256 rows: 130 of expert 1 and padding.
struct Contiguous {
  Contiguous() {
    for (std::size_t r = 0; r < 130; ++r) m_indices[r] = 1;
    for (std::int64_t n = 130 * 64; n < 256 * 64; ++n) set(layer.tokens, n, 0);
  }
  GroupedContiguousInputs inputs() const {
    return {layer.tokens.view(),
            layer.weights(),
            {Dtype::kI32, {static_cast<std::int64_t>(m_indices.size())}, m_indices.data(), {}}};
  }
  Layer layer{WeightFormat::kInt4, 256, 3, 64, 64};
  std::vector<std::int32_t> m_indices = std::vector<std::int32_t>(256, -1);
};

template <class Change>
std::string contiguous_refusal(const Change& change, PaddingRows padding = PaddingRows::kZero,
                               bool norm_accepts = true) {
  Contiguous call;
  change(call);
  EXPECT_EQ(validate_grouped_contiguous(call.inputs()).ok(), norm_accepts);
  return message_of(validate_contract(call.inputs(), padding));
}

TEST(ContractContiguous, Kept) {
  EXPECT_EQ(contiguous_refusal([](Contiguous&) {}), kAccepted);
  EXPECT_EQ(contiguous_refusal([](Contiguous& c) {
              for (std::size_t r = 128; r < 256; ++r) c.m_indices[r] = r < 150 ? 0 : -1;
              for (std::int64_t n = 128 * 64; n < 256 * 64; ++n) set(c.layer.tokens, n, -0.0);
            }),
            kAccepted)
      << "runs in any order";
}

TEST(ContractContiguous, RowsAreAMultipleOf128) {
  EXPECT_EQ(contiguous_refusal([](Contiguous& c) {
              c.layer = Layer(WeightFormat::kInt4, 192, 3, 64, 64);
              c.m_indices.resize(192, -1);
            }),
            "m: value 192: RTE-23: m is a multiple of 128");
}

TEST(ContractContiguous, RowsOfATileAgree) {
  EXPECT_EQ(
      contiguous_refusal([](Contiguous& c) { c.m_indices[100] = 2; }),
      "m_indices: value row 100, expert 2: RTE-24: rows of the tile that begins at row 0 disagree: others "
      "are of expert 1");
  EXPECT_EQ(contiguous_refusal([](Contiguous& c) { c.m_indices[131] = 0; }),
            "m_indices: value row 131, expert 0: RTE-24: rows of the tile that begins at row 128 disagree: "
            "others are of expert 1");
}

TEST(ContractContiguous, RunsAreAligned) {
  EXPECT_EQ(
      contiguous_refusal([](Contiguous& c) { c.m_indices[0] = -1; }),
      "m_indices: value row 1, expert 1: RTE-25: a run is misaligned: it begins after padding, not on a "
      "multiple of 128");
  EXPECT_EQ(
      contiguous_refusal([](Contiguous& c) { c.m_indices[64] = -1; }),
      "m_indices: value row 65, expert 1: RTE-25: a run is misaligned: it begins after padding, not on a "
      "multiple of 128");
}

TEST(ContractContiguous, IndicesInRange) {
  EXPECT_EQ(contiguous_refusal([](Contiguous& c) { c.m_indices[5] = 3; }, PaddingRows::kZero, false),
            "m_indices: value row 5, expert 3: RTE-9: every index is in -1..2");
}

TEST(ContractContiguous, PaddingRowsAreZero) {
  const auto poison = [](Contiguous& c) { set_bits(c.layer.tokens, 200 * 64 + 7, 0x7FC0); };
  EXPECT_EQ(contiguous_refusal(poison),
            "latent_tokens: value row 200, column 7: RTE-26: the activations of padding rows are zero");
  EXPECT_EQ(contiguous_refusal(poison, PaddingRows::kAny), kAccepted);
}

TEST(ContractContiguous, Shapes) {
  const auto with_shape = [](std::int64_t in, std::int64_t out) {
    return contiguous_refusal([&](Contiguous& c) { c.layer = Layer(WeightFormat::kMxfp4, 256, 3, in, out); },
                              PaddingRows::kAny);
  };
  EXPECT_EQ(with_shape(64, 64), kAccepted);
  EXPECT_EQ(with_shape(64, 96), "O: value 96: RTE-22: O is a multiple of 64");
  EXPECT_EQ(with_shape(96, 64), "I: value 96: RTE-22: I is a multiple of 64");
}

struct Masked {
  GroupedMaskedInputs inputs() const {
    return {layer.tokens.view(), layer.weights(), {Dtype::kI32, {2}, masked_m.data(), {}}};
  }
  Layer layer{WeightFormat::kInt4, 2 * 24, 2, 128, 64};  // max_m = 24
  std::vector<std::int32_t> masked_m = {17, 24};
};

template <class Change>
std::string masked_refusal(const Change& change, std::int64_t tile_m = 24, bool norm_accepts = true) {
  Masked call;
  change(call);
  EXPECT_EQ(validate_grouped_masked(call.inputs()).ok(), norm_accepts);
  return message_of(validate_contract(call.inputs(), tile_m));
}

TEST(ContractMasked, Kept) {
  EXPECT_EQ(masked_refusal([](Masked&) {}), kAccepted);
  EXPECT_EQ(masked_refusal([](Masked& c) { c.masked_m = {0, 0}; }, 128), kAccepted) << "no tile, no store";
}

TEST(ContractMasked, WholeTilesFit) {
  EXPECT_EQ(
      masked_refusal([](Masked&) {}, 16),
      "masked_m: value expert 0, count 17: RTE-27: max_m = 24 holds whole tiles of 16 rows, here 32 rows");
  EXPECT_EQ(
      masked_refusal(
          [](Masked& c) {
            c.masked_m = {0, 1};
          },
          128),
      "masked_m: value expert 1, count 1: RTE-27: max_m = 24 holds whole tiles of 128 rows, here 128 rows");
  for (const std::int64_t tile : {8, 20, 136, 0, -16}) {
    EXPECT_EQ(
        masked_refusal([](Masked&) {}, tile),
        "tile_m: value " + std::to_string(tile) + ": RTE-27: a tile has a multiple of 8 rows in 16..128");
  }
}

TEST(ContractMasked, CountsAndShapes) {
  EXPECT_EQ(masked_refusal([](Masked& c) { c.masked_m[0] = 25; }, 24, false),
            "masked_m: value expert 0, count 25: RTE-12: every count is in 0..max_m = 24");
  EXPECT_EQ(masked_refusal([](Masked& c) { c.layer = Layer(WeightFormat::kInt4, 48, 2, 128, 32); }),
            "O: value 32: RTE-22: O is a multiple of 64");
  EXPECT_EQ(masked_refusal([](Masked& c) { c.layer = Layer(WeightFormat::kInt4, 48, 2, 192, 64); }),
            "I: value 192: RTE-22: I is a multiple of 128");
  EXPECT_EQ(masked_refusal([](Masked& c) {
              c.layer = Layer(WeightFormat::kInt4, 0, 2, 128, 64);
              c.masked_m = {0, 0};
            }),
            "max_m: value 0: RTE-17: max_m is at least 1");
}

TEST(ContractCombine, ContiguousAndNotEmpty) {
  const Tensor rows(Dtype::kBF16, {4, 3});
  const Tensor p(Dtype::kF32, {2, 2});
  const Tensor shared(Dtype::kF32, {2, 3});
  CombineInputs in{rows.view(), p.view(), std::nullopt, shared.view()};
  EXPECT_EQ(message_of(validate_contract(in)), kAccepted);
  in.mixture_weights.strides = {1, 2};
  EXPECT_EQ(message_of(validate_contract(in)),
            "mixture_weights: value strides [1,2]: RTE-28: tensors are contiguous");
  in.mixture_weights = {Dtype::kF32, {2, 0}, p.data(), {}};
  in.rows.shape = {0, 3};
  EXPECT_EQ(message_of(validate_contract(in)), "K: value 0: RTE-28: K is at least 1");
}

// What the builders make keeps the contracts.
TEST(ContractBuilders, KeepTheContracts) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Layer layer = drawn_layer(WeightFormat::kInt4, 40, 5, 128, 128, seed);
    const Routes routes = drawn_routes(40, 2, 5, seed, seed % 2 == 0);
    for (const std::int64_t block_m : {8, 16, 40, 176}) {
      EXPECT_EQ(message_of(validate_contract(indexed_inputs(layer, align_blocks(routes, 5, block_m)))),
                kAccepted);
    }
    const ContiguousRows contiguous = contiguous_rows(routes, 5);
    const Tensor gathered = gather_rows(layer.tokens, 2, contiguous.map);
    EXPECT_EQ(message_of(validate_contract(
                  GroupedContiguousInputs{gathered.view(), layer.weights(), contiguous.m_indices_view()})),
              kAccepted);
    const MaskedRows masked = masked_rows(routes, 5, 96).value();
    const Tensor blocks = gather_rows(layer.tokens, 2, masked.map);
    const GroupedMaskedInputs in{blocks.view(), layer.weights(), masked.masked_m_view()};
    for (const std::int64_t tile : {16, 24, 32, 48, 96}) {
      EXPECT_EQ(message_of(validate_contract(in, tile)), kAccepted);
    }
  }
}

}  // namespace
}  // namespace moe4::test
