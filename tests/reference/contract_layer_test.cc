// RTE-29 to RTE-31: weights packed for another operation, arguments of another operation, schemes that are
// not supported. Each refusal by its message.
#include <gtest/gtest.h>

#include "reference/formats/quant_scheme.h"
#include "reference/routing/layer_call.h"
#include "tests/reference/routing_problem.h"

namespace moe4::test {
namespace {

TEST(ContractPacked, RepackForTheOtherMode) {
  const PackedFor mma{ServingOp::kIndexed, IndexedLayout::kMma};
  const PackedFor wgmma{ServingOp::kIndexed, IndexedLayout::kWgmma};
  const PackedFor contiguous{ServingOp::kGroupedContiguous};
  const PackedFor masked{ServingOp::kGroupedMasked};
  EXPECT_EQ(message_of(check_packed(contiguous, masked)),
            "packed_weights: value packed for grouped_contiguous, BLOCK_K 64: RTE-29: repack them for "
            "grouped_masked, BLOCK_K 128");
  EXPECT_EQ(message_of(check_packed(masked, contiguous)),
            "packed_weights: value packed for grouped_masked, BLOCK_K 128: RTE-29: repack them for "
            "grouped_contiguous, BLOCK_K 64");
  EXPECT_EQ(message_of(check_packed(mma, wgmma)),
            "packed_weights: value packed for indexed, layout mma: RTE-29: repack them for indexed, layout "
            "wgmma");
  EXPECT_NE(message_of(check_packed(wgmma, masked)).find("repack"), std::string::npos);
  for (const PackedFor& packed : {mma, wgmma, contiguous, masked}) {
    EXPECT_EQ(message_of(check_packed(packed, packed)), "");
  }
}

LayerCall complete(ServingOp op) {
  LayerCall call;
  call.valid_shape_m = 1;
  if (op == ServingOp::kIndexed) call.given = {"sorted_ids", "expert_ids", "num_tokens_padded"};
  if (op == ServingOp::kGroupedContiguous) call.given = {"m_indices"};
  if (op == ServingOp::kGroupedMasked) call.given = {"expert_layout"};
  return call;
}

std::string with_argument(ServingOp op, const std::string& argument) {
  LayerCall call = complete(op);
  call.given.insert(argument);
  return message_of(check_layer_call(op, call));
}

TEST(ContractLayer, Kept) {
  for (const ServingOp op : {ServingOp::kIndexed, ServingOp::kGroupedContiguous, ServingOp::kGroupedMasked}) {
    LayerCall call = complete(op);
    EXPECT_EQ(message_of(check_layer_call(op, call)), "");
    call.gemm_type = std::string(name_of(op));
    EXPECT_EQ(message_of(check_layer_call(op, call)), "");
  }
  EXPECT_EQ(with_argument(ServingOp::kIndexed, "tuning_config"), "");
  EXPECT_EQ(with_argument(ServingOp::kIndexed, "block_m"), "");
}

TEST(ContractLayer, ArgumentsOfOtherOperations) {
  for (const char* argument : {"sorted_ids", "expert_ids", "num_tokens_padded", "tuning_config", "block_m"}) {
    EXPECT_EQ(with_argument(ServingOp::kGroupedContiguous, argument),
              std::string(argument) +
                  ": value given: RTE-30: a layer of grouped_contiguous is not given this, but m_indices");
    EXPECT_EQ(with_argument(ServingOp::kGroupedMasked, argument),
              std::string(argument) +
                  ": value given: RTE-30: a layer of grouped_masked is not given this, but expert_layout");
  }
  EXPECT_NE(with_argument(ServingOp::kGroupedContiguous, "expert_layout"), "");
  EXPECT_NE(with_argument(ServingOp::kGroupedMasked, "m_indices"), "");
  for (const char* argument : {"expert_layout", "m_indices"}) {
    EXPECT_EQ(with_argument(ServingOp::kIndexed, argument),
              std::string(argument) +
                  ": value given: RTE-30: a layer of indexed is not given this, but sorted_ids, expert_ids, "
                  "num_tokens_padded");
  }
}

TEST(ContractLayer, MissingRouting) {
  EXPECT_EQ(message_of(check_layer_call(ServingOp::kGroupedContiguous, {})),
            "m_indices: value missing: RTE-30: a layer of grouped_contiguous is given m_indices");
  for (const char* argument : {"sorted_ids", "expert_ids", "num_tokens_padded"}) {
    LayerCall call = complete(ServingOp::kIndexed);
    call.given.erase(argument);
    EXPECT_EQ(message_of(check_layer_call(ServingOp::kIndexed, call)),
              std::string(argument) +
                  ": value missing: RTE-30: a layer of indexed is given sorted_ids, expert_ids, "
                  "num_tokens_padded");
  }
}

TEST(ContractLayer, Settings) {
  LayerCall call = complete(ServingOp::kGroupedMasked);
  call.gemm_type = "grouped_contiguous";
  EXPECT_EQ(message_of(check_layer_call(ServingOp::kGroupedMasked, call)),
            "gemm_type: value grouped_contiguous: RTE-30: the gemm_type of this layer is grouped_masked");
  call = complete(ServingOp::kIndexed);
  call.gemm_type = "dense";
  EXPECT_EQ(message_of(check_layer_call(ServingOp::kIndexed, call)),
            "gemm_type: value dense: RTE-30: the gemm_type of this layer is indexed");
  for (const std::int64_t m : {0, -3}) {
    call = complete(ServingOp::kGroupedMasked);
    call.valid_shape_m = m;
    EXPECT_EQ(message_of(check_layer_call(ServingOp::kGroupedMasked, call)),
              "valid_shape_m: value " + std::to_string(m) +
                  ": RTE-30: valid_shape_m is at least 1 for a layer of grouped_masked");
  }
  call = complete(ServingOp::kGroupedContiguous);
  call.use_f16_accum = true;
  EXPECT_EQ(message_of(check_layer_call(ServingOp::kGroupedContiguous, call)),
            "use_f16_accum: value true: RTE-30: sums are kept in F32");
  call = complete(ServingOp::kIndexed);
  call.use_batch_invariant = true;
  EXPECT_EQ(message_of(check_layer_call(ServingOp::kIndexed, call)),
            "use_batch_invariant: value true: RTE-30: there is no such kernel");
}

QuantScheme int4_scheme() {
  QuantScheme scheme;
  scheme.method = "compressed-tensors";
  scheme.format = "pack-quantized";
  return scheme;
}

TEST(ContractScheme, Supported) {
  EXPECT_EQ(weight_format_of(int4_scheme()).value(), WeightFormat::kInt4);
  QuantScheme scheme = int4_scheme();
  scheme.strategy = "tensor_group";
  EXPECT_EQ(weight_format_of(scheme).value(), WeightFormat::kInt4);
  scheme.format = "mxfp4-pack-quantized";
  scheme.type = "float";
  EXPECT_EQ(weight_format_of(scheme).value(), WeightFormat::kMxfp4);
  QuantScheme gpt_oss;
  gpt_oss.method = "mxfp4";
  EXPECT_EQ(weight_format_of(gpt_oss).value(), WeightFormat::kMxfp4);
}

template <class Change>
std::string scheme_refusal(const Change& change) {
  QuantScheme scheme = int4_scheme();
  change(scheme);
  const auto format = weight_format_of(scheme);
  return format.ok() ? "accepted" : format.error().message();
}

TEST(ContractScheme, MethodsByName) {
  const std::pair<const char*, const char*> methods[] = {
      {"awq", "AWQ"},           {"gptq", "GPTQ"}, {"auto-round", "AutoRound"}, {"bitnet", "BitNet"},
      {"modelopt", "ModelOpt"}, {"fp8", "FP8"},   {"nvfp4", "NVFP4"},          {"AWQ", "AWQ"}};
  for (const auto& [method, title] : methods) {
    EXPECT_EQ(scheme_refusal([&](QuantScheme& s) { s.method = method; }),
              "quant_method: value " + std::string(method) + ": RTE-31: " + title +
                  " is not supported; compressed-tensors and mxfp4 are");
  }
  EXPECT_EQ(scheme_refusal([](QuantScheme& s) { s.method = "spqr"; }),
            "quant_method: value spqr: RTE-31: the method is not known; compressed-tensors and mxfp4 are");
}

TEST(ContractScheme, CompressedTensors) {
  using S = QuantScheme;
  EXPECT_EQ(scheme_refusal([](S& s) { s.format = "int-quantized"; }),
            "format: value int-quantized: RTE-31: the format is pack-quantized or mxfp4-pack-quantized");
  EXPECT_EQ(scheme_refusal([](S& s) { s.type = "float"; }), "type: value float: RTE-31: the type is int");
  EXPECT_EQ(scheme_refusal([](S& s) { s.num_bits = 8; }), "num_bits: value 8: RTE-31: codes have 4 bits");
  EXPECT_EQ(scheme_refusal([](S& s) { s.symmetric = false; }),
            "symmetric: value false: RTE-31: quantisation is symmetric");
  EXPECT_EQ(scheme_refusal([](S& s) { s.actorder = "weight"; }),
            "actorder: value weight: RTE-31: there is no activation order");
  EXPECT_EQ(scheme_refusal([](S& s) { s.strategy = "channel"; }),
            "strategy: value channel: RTE-31: the strategy is by groups");
  EXPECT_EQ(scheme_refusal([](S& s) { s.group_size = 128; }),
            "group_size: value 128: RTE-31: a group has 32 elements");
  EXPECT_EQ(scheme_refusal([](S& s) { s.online = true; }),
            "online: value true: RTE-31: weights are quantised before they are loaded");
  EXPECT_EQ(scheme_refusal([](S& s) { s.zero_point = true; }),
            "zero_point: value true: RTE-31: there is no stored zero point");
  EXPECT_EQ(scheme_refusal([](S& s) { s.bias = true; }), "bias: value true: RTE-31: there is no bias");
  EXPECT_EQ(scheme_refusal([](S& s) { s.hadamard = true; }),
            "hadamard: value true: RTE-31: there is no Hadamard transform");
}

}  // namespace
}  // namespace moe4::test
