// CKP-4: what config.json says of the experts, in the words that real ones use.
#include <nlohmann/json.hpp>

#include "oracle/file/checkpoint/quant_config.h"
#include "tests/oracle/checkpoint_support.h"

namespace moe4::oracle {
namespace {

using Json = nlohmann::json;

Json kimi(const char* format, const char* type) {
  return {{"quant_method", "compressed-tensors"},
          {"format", format},
          {"quantization_status", "compressed"},
          {"kv_cache_scheme", nullptr},
          {"ignore", {"lm_head", "re:.*self_attn.*"}},
          {"config_groups",
           {{"group_0",
             {{"input_activations", nullptr},
              {"output_activations", nullptr},
              {"targets", {"Linear"}},
              {"weights",
               {{"actorder", nullptr},
                {"block_structure", nullptr},
                {"dynamic", false},
                {"group_size", 32},
                {"num_bits", 4},
                {"observer", "minmax"},
                {"strategy", "group"},
                {"symmetric", true},
                {"type", type}}}}}}}};
}
Json k2() { return kimi("pack-quantized", "int"); }
Json k3() { return kimi("mxfp4-pack-quantized", "float"); }
Json& weights(Json& config) { return config["config_groups"]["group_0"]["weights"]; }

// "int4", "mxfp4", "none", or the message.
std::string said_of(const std::string& config) {
  const auto format = parse_quant_config(config);
  if (!format) return format.error().message();
  return *format ? std::string(name_of(**format)) : "none";
}
std::string said(const Json& quantization) {
  return said_of(Json{{"quantization_config", quantization}}.dump());
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "says: " << (text)

TEST(QuantConfig, OfRealCheckpoints) {
  EXPECT_EQ(said(k2()), "int4");
  EXPECT_EQ(said(k3()), "mxfp4");
  EXPECT_EQ(said(Json{{"quant_method", "mxfp4"}, {"modules_to_not_convert", {"lm_head"}}}), "mxfp4");
  EXPECT_EQ(said_of(Json{{"text_config", {{"quantization_config", k2()}}}}.dump()), "int4");
  EXPECT_EQ(
      said_of(Json{{"text_config", {{"quantization_config", k3()}}}, {"quantization_config", k3()}}.dump()),
      "mxfp4");
  EXPECT_EQ(said_of(Json{{"num_hidden_layers", 36}, {"num_experts", 128}}.dump()), "none");
  EXPECT_EQ(said_of(Json{{"quantization_config", nullptr}}.dump()), "none");
  Json in_group = k3();
  in_group["config_groups"]["group_0"]["format"] = in_group["format"];
  in_group.erase("format");
  EXPECT_EQ(said(in_group), "mxfp4");
  Json transform = k2();
  transform["transform_config"] = Json::object();
  EXPECT_EQ(said(transform), "int4");
  Json unordered = k2();
  weights(unordered)["actorder"] = false;
  EXPECT_EQ(said(unordered), "int4");
}

TEST(QuantConfig, RefusesWhatIsNotSupportedAndSaysWhere) {
  const auto with = [](Json config, const char* key, const Json& value) {
    weights(config)[key] = value;
    return said(config);
  };
  const std::string at = "config.json: quantization_config.config_groups.group_0.";
  EXPECT_SAYS(with(k2(), "group_size", 128), at + "group_size: value 128: RTE-31");
  EXPECT_SAYS(with(k2(), "num_bits", 8), at + "num_bits: value 8: RTE-31");
  EXPECT_SAYS(with(k2(), "symmetric", false), at + "symmetric");
  EXPECT_SAYS(with(k2(), "actorder", "group"), at + "actorder: value group: RTE-31");
  EXPECT_SAYS(with(k2(), "actorder", true), at + "actorder");
  EXPECT_SAYS(with(k2(), "strategy", "channel"), at + "strategy");
  EXPECT_SAYS(with(k2(), "type", "float"), at + "type");
  EXPECT_SAYS(with(k3(), "group_size", 16), at + "group_size: value 16");
  for (const char* format : {"nvfp4-pack-quantized", "float-quantized", "marlin-24", "mixed-precision", ""}) {
    Json config = k2();
    config["format"] = format;
    EXPECT_SAYS(said(config), at + "format") << format;
  }
  for (const char* method : {"awq", "gptq", "fp8", "modelopt", "bitnet", "auto-round", "new", ""}) {
    Json config = k2();
    config["quant_method"] = method;
    EXPECT_SAYS(said(config), "group_0.quant_method: ") << method;
    EXPECT_SAYS(said(config), "RTE-31") << method;
  }
  Json transform = k2();
  transform["transform_config"] = {{"config_groups", {{"R1", 1}}}};
  EXPECT_SAYS(said(transform), "hadamard");
}

TEST(QuantConfig, RefusesContradictions) {
  Json two = k2();
  two["config_groups"]["group_1"] = k3()["config_groups"]["group_0"];
  two["config_groups"]["group_1"]["format"] = "mxfp4-pack-quantized";
  EXPECT_SAYS(said(two), "group_1: CKP-4: all that is said");
  two["config_groups"]["group_1"] = k2()["config_groups"]["group_0"];
  EXPECT_EQ(said(two), "int4");
  EXPECT_SAYS(
      said_of(Json{{"text_config", {{"quantization_config", k2()}}}, {"quantization_config", k3()}}.dump()),
      "text_config");
}

TEST(QuantConfig, RefusesOtherTypesAndOtherText) {
  for (const char* text : {"", "{", "[]", "3", "{}x", "{\"a\":\"\xff\"}"})
    EXPECT_SAYS(said_of(text), "CKP-4") << text;
  for (const Json& value : {Json(3), Json("int4"), Json::array()}) EXPECT_SAYS(said(value), "CKP-4");
  for (const char* key : {"format", "quant_method"}) {
    Json config = k2();
    config[key] = 3;
    EXPECT_SAYS(said(config), std::string(key) + ": value 3: CKP-4");
  }
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, Json>>{{"num_bits", "4"},
                                                 {"num_bits", 4.0},
                                                 {"num_bits", 4294967300},
                                                 {"group_size", 18446744073709551615u},
                                                 {"symmetric", 1},
                                                 {"strategy", Json::array()},
                                                 {"actorder", 3}}) {
    Json config = k2();
    weights(config)[key] = value;
    EXPECT_SAYS(said(config), std::string(key) + ": value " + value.dump() + ": CKP-4");
  }
  for (const Json& groups :
       {Json(3), Json::object(), Json{{"group_0", 3}}, Json{{"group_0", {{"weights", nullptr}}}}}) {
    Json config = k2();
    config["config_groups"] = groups;
    EXPECT_SAYS(said(config), "CKP-4") << groups;
  }
  std::string deep = R"({"quantization_config":)";
  for (int n = 0; n < 100000; ++n) deep += "[";
  EXPECT_SAYS(said_of(deep), "CKP-4");
}

// The config decides before any tensor is looked at, and against what the tensors are.
TEST_F(FileTest, ConfigOfACheckpointIsRead) {
  const auto message = [this](const Json& config) {
    write_bytes(path("config.json"), Json{{"quantization_config", config}}.dump());
    const Result<LoadedWeights> loaded = load(path(""), {2, Projection::kDown, {}});
    return loaded ? "" : loaded.error().message();
  };
  EXPECT_SAYS(message(Json{{"quant_method", "awq"}}), "RTE-31: AWQ");
  const ModelOptions m;
  write_shards(path(""), model_tensors(m), 2);
  EXPECT_EQ(message(k3()), "");
  EXPECT_SAYS(message(k2()), "weight_packed: value U8: CKP-8: dtype I32");
  EXPECT_SAYS(message(Json{{"quant_method", "modelopt"}}), "ModelOpt");
  std::filesystem::create_directories(path("oss"));
  ModelOptions oss;
  oss.model = Model::kGptOss;
  write_shards(path("oss"), model_tensors(oss), 2);
  write_bytes(path("oss/config.json"), Json{{"quantization_config", k2()}}.dump());
  const Result<LoadedWeights> loaded = load(path("oss"), {2, Projection::kDown, {}});
  ASSERT_FALSE(loaded);
  EXPECT_SAYS(loaded.error().message(), "CKP-4");
}

}  // namespace
}  // namespace moe4::oracle
