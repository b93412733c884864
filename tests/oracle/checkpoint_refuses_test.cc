// Each way a checkpoint can be wrong, alone: refused, naming the tensor and its file, by its rule.
#include <sys/stat.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/oracle/checkpoint_support.h"

namespace moe4::oracle {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

std::string message(const std::filesystem::path& folder, const CheckpointRequest& request) {
  const Result<LoadedWeights> loaded = load(folder, request);
  return loaded ? "" : loaded.error().message();
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "says: " << (text)

struct Damage {
  const char* name;
  Model model;
  std::function<void(RawTensors&, const std::string& module)> apply;  // module of layer 2, expert 3, down
  const char* part;  // of the tensor that is named; "" for another
  const char* says;

  friend void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }
};

void remove(RawTensors& tensors, const std::string& name) {
  std::erase_if(tensors, [&name](const RawTensor& t) { return t.name == name; });
}

std::vector<Damage> damages() {
  const auto drop = [](const char* part) {
    return [part](RawTensors& t, const std::string& m) { remove(t, m + part); };
  };
  const auto dtype = [](const char* part, const char* to) {
    return [=](RawTensors& t, const std::string& m) { named(t, m + part).dtype = to; };
  };
  const auto shape = [](const char* part, std::vector<std::int64_t> to) {
    return [=](RawTensors& t, const std::string& m) { named(t, m + part).shape = to; };
  };
  const auto add = [](const char* part) {
    return [=](RawTensors& t, const std::string& m) { t.push_back({m + part, "I32", {1}, "abcd"}); };
  };
  const auto replace = [](const char* part, const char* stored, std::vector<std::int64_t> dims) {
    return [=](RawTensors& t, const std::string& m) {
      std::size_t bytes = std::string(stored) == "F32" || std::string(stored) == "I32" ? 4 : 1;
      if (std::string(stored) == "BF16" || std::string(stored) == "F16") bytes = 2;
      for (const std::int64_t d : dims) bytes *= static_cast<std::size_t>(d);
      named(t, m + part) = {m + part, stored, dims, std::string(bytes, 'r')};
    };
  };
  return {
      {"K2NoScale", Model::kK2, drop("weight_scale"), "weight_scale", "(absent)"},
      {"K2NoPacked", Model::kK2, drop("weight_packed"), "weight_packed", "(absent)"},
      {"K2NoShape", Model::kK2, drop("weight_shape"), "weight_shape", "(absent)"},
      {"K2ScaleF16", Model::kK2, dtype("weight_scale", "F16"), "weight_scale", "F16: CKP-8: dtype BF16"},
      {"K2PackedF32", Model::kK2, dtype("weight_packed", "F32"), "weight_packed",
       "F32: CKP-7: dtype I32 or U8"},
      {"K2PackedU32", Model::kK2, dtype("weight_packed", "U32"), "weight_packed",
       "U32: CKP-7: dtype I32 or U8"},
      {"K2ShapeF32", Model::kK2, dtype("weight_shape", "F32"), "weight_shape", "CKP-8: dtype I32 or I64"},
      {"K2ShapeOfThree", Model::kK2, replace("weight_shape", "I32", {3}), "weight_shape", "CKP-8: shape [2]"},
      {"K2ShapeLies", Model::kK2, replace("weight_shape", "I32", {2}), "weight_shape", "CKP-8: O and I"},
      {"K2ScaleOfGroup64", Model::kK2, replace("weight_scale", "BF16", {64, 1}), "weight_scale",
       "[64,1]: CKP-8: shape [64,3]"},
      {"K2ScaleRank1", Model::kK2, shape("weight_scale", {192}), "weight_scale", "CKP-8: shape [64,3]"},
      {"K2OddWords", Model::kK2, replace("weight_packed", "I32", {64, 11}), "weight_packed", "LAY-4"},
      {"K2NoRows", Model::kK2, replace("weight_packed", "I32", {0, 12}), "weight_packed", "LAY-4"},
      {"K2ZeroPoint", Model::kK2, add("weight_zero_point"), "weight_zero_point", "CKP-11: a zero point"},
      {"K2GIdx", Model::kK2, add("weight_g_idx"), "weight_g_idx", "CKP-11: an activation order"},
      {"K2Bias", Model::kK2, add("bias"), "bias", "CKP-11: a bias"},
      {"K2Unpacked", Model::kK2, add("weight"), "weight", "CKP-11"},
      {"K3NoScale", Model::kK3, drop("weight_scale"), "weight_scale", "(absent)"},
      {"K3PackedE8M0", Model::kK3, dtype("weight_packed", "F8_E8M0"), "weight_packed",
       "F8_E8M0: CKP-7: dtype I32 or U8"},
      {"K3ScaleE4M3", Model::kK3, dtype("weight_scale", "F8_E4M3"), "weight_scale",
       "CKP-9: dtype U8 or F8_E8M0"},
      {"K3ScaleOfGroup16", Model::kK3, replace("weight_scale", "U8", {64, 6}), "weight_scale",
       "[64,6]: CKP-9: shape [64,3]"},
      {"K3OddBytes", Model::kK3, replace("weight_packed", "U8", {64, 40}), "weight_packed",
       "CKP-9: shape [O, I/2]"},
      {"K3Nvfp4", Model::kK3, add("weight_global_scale"), "weight_global_scale", "CKP-11: NVFP4"},
      {"K3WithShape", Model::kK3, add("weight_shape"), "weight_shape", "CKP-11"},
      {"OssNoScales", Model::kGptOss, drop("scales"), "scales", "(absent)"},
      {"OssNoBlocks", Model::kGptOssOriginal, drop("blocks"), "blocks", "(absent)"},
      {"OssBlocksOf8", Model::kGptOss, replace("blocks", "U8", {5, 64, 6, 8}), "blocks",
       "CKP-10: shape [*,*,*,16]"},
      {"OssRank3", Model::kGptOss, shape("blocks", {5 * 64, 3, 16}), "blocks", "CKP-10: shape [*,*,*,16]"},
      {"OssScalesF32", Model::kGptOss, replace("scales", "F32", {5, 64, 3}), "scales", "CKP-10: dtype U8"},
      {"OssScalesOfFewer", Model::kGptOssOriginal, replace("scales", "U8", {4, 64, 3}), "scales",
       "[4,64,3]: CKP-10: shape [5,64,3]"},
      {"ExpertOfOtherShape", Model::kK3,
       [](RawTensors& t, const std::string& m) {
         named(t, m + "weight_packed") = {m + "weight_packed", "U8", {32, 48}, std::string(32 * 48, 'x')};
         named(t, m + "weight_scale") = {m + "weight_scale", "U8", {32, 3}, std::string(32 * 3, 'y')};
       },
       "weight_packed", "CKP-12"},
      {"ExpertOfOtherFormat", Model::kK2,
       [](RawTensors& t, const std::string& m) {
         named(t, m + "weight_packed") = {m + "weight_packed", "U8", {64, 48}, std::string(64 * 48, 'x')};
         named(t, m + "weight_scale") = {m + "weight_scale", "U8", {64, 3}, std::string(64 * 3, 'y')};
         remove(t, m + "weight_shape");
       },
       "weight_packed", "CKP-12"},
  };
}

class CheckpointDamage : public FileTest, public testing::WithParamInterface<Damage> {};

TEST_P(CheckpointDamage, IsRefusedNamingTensorAndFile) {
  const Damage& damage = GetParam();
  ModelOptions m;
  m.model = damage.model;
  const std::string module = module_of(m, 2, 3, 'd');
  RawTensors tensors = model_tensors(m);
  damage.apply(tensors, module);
  write_shards(path(""), tensors, 3);
  const std::string said = message(path(""), {2, Projection::kDown, {}});
  EXPECT_SAYS(said, module + damage.part);
  EXPECT_SAYS(said, damage.says);
  if (std::string(damage.says) != "(absent)") {
    EXPECT_SAYS(said, shard_name(shard_of(module + damage.part, 3), 3));
  }
  // The other layers are whole.
  EXPECT_EQ(message(path(""), {7, Projection::kDown, {}}), "");
}

INSTANTIATE_TEST_SUITE_P(All, CheckpointDamage, testing::ValuesIn(damages()),
                         [](const auto& damage) { return damage.param.name; });

class CheckpointRefuses : public FileTest {
 protected:
  // A K3 model in 3 shards; what loading layer 2 says after `damage`.
  std::string after(const std::function<void()>& damage) {
    write_shards(path(""), model_tensors(m_), 3);
    EXPECT_EQ(message(path(""), request_), "");
    damage();
    return message(path(""), request_);
  }
  void edit_index(const std::function<void(nlohmann::json&)>& edit) {
    nlohmann::json index = nlohmann::json::parse(bytes_of(path(kIndex)));
    edit(index);
    write_bytes(path(kIndex), index.dump());
  }

  ModelOptions m_;
  CheckpointRequest request_{2, Projection::kDown, {}};
  const std::string packed_ = module_of(m_, 2, 3, 'd') + "weight_packed";
};

TEST_F(CheckpointRefuses, LayersAndExpertsThatAreNotThere) {
  const std::string layer = after([this] { request_.layer = 3; });
  EXPECT_SAYS(layer, "layer: value 3: CKP-6");
  EXPECT_SAYS(layer, "there are 1-2+7");
  EXPECT_SAYS(message(path(""), {2, Projection::kUp, {4, 5}}),
              "experts: value 5: CKP-6: an expert of layer 2; there are 0-4");
  m_.model = Model::kGptOss;
  std::filesystem::create_directories(path("oss"));
  write_shards(path("oss"), model_tensors(m_), 2);
  EXPECT_SAYS(message(path("oss"), {2, Projection::kUp, {9}}), "experts: value 9: CKP-6");
  EXPECT_SAYS(message(path("oss"), {0, Projection::kUp, {}}), "there are 1-2+7");
}

TEST_F(CheckpointRefuses, FoldersThatAreNoCheckpoint) {
  EXPECT_SAYS(message(path(""), request_), "(neither): CKP-1");
  EXPECT_SAYS(message(path("nowhere"), request_), "CKP-1");
  EXPECT_SAYS(after([this] { write_single(path(""), model_tensors(m_)); }), "(both): CKP-1");
  std::filesystem::create_directories(path("dense"));
  write_single(path("dense"), {{"model.layers.0.mlp.gate_proj.weight", "BF16", {1}, "ab"}});
  EXPECT_SAYS(message(path("dense"), request_), "CKP-5");
}

TEST_F(CheckpointRefuses, ShardsThatAreMissingOrBroken) {
  const std::string shard = shard_name(shard_of(packed_, 3), 3);
  ASSERT_EQ(after([] {}), "");
  const std::string whole = bytes_of(path(shard));
  const auto with = [&](const std::function<void()>& damage) { return after(damage); };
  EXPECT_SAYS(with([&] { std::filesystem::remove(path(shard)); }),
              shard + ": FILE-11: cannot be read: No such file");
  EXPECT_SAYS(with([&] { write_bytes(path(shard), ""); }), shard + ": file: value 0: FILE-1");
  EXPECT_SAYS(with([&] { write_bytes(path(shard), std::string(8, '\xff')); }), shard + ": header");
  EXPECT_SAYS(with([&] { write_bytes(path(shard), whole.substr(0, whole.size() - 1)); }), "FILE-8");
  EXPECT_SAYS(with([&] { write_bytes(path(shard), whole + "x"); }), "FILE-9");
  EXPECT_SAYS(with([&] {
                std::filesystem::remove(path(shard));
                ASSERT_EQ(mkfifo(path(shard).c_str(), 0600), 0);
              }),
              "not a regular file");
}

TEST_F(CheckpointRefuses, AShardCutOffAfterItWasMapped) {
  write_shards(path(""), model_tensors(m_), 3);
  Result<Checkpoint> checkpoint = Checkpoint::open(path(""), request_);
  ASSERT_TRUE(checkpoint);
  for (std::size_t n = 0; n < 3; ++n) std::filesystem::resize_file(path(shard_name(n, 3)), 10);
  Tensor codes(Dtype::kU8, {5, 64, 3, 16}), scales(Dtype::kU8, {5, 64, 3});
  const std::vector<std::int64_t> first = {0};
  const Status status = checkpoint->read(first, codes, scales);
  ASSERT_TRUE(status);
  EXPECT_SAYS(status->message(), "shrank while it was read");
}

TEST_F(CheckpointRefuses, AnIndexThatIsWrong) {
  const std::string shard = shard_name(shard_of(packed_, 3), 3);
  // The index places a tensor in a file that is not there, or that has no such tensor, or nowhere.
  EXPECT_SAYS(
      after([this] {
        edit_index([this](auto& j) { j["weight_map"][packed_] = "model-00009-of-00009.safetensors"; });
      }),
      "it should hold " + packed_);
  const std::string other = shard_name((shard_of(packed_, 3) + 1) % 3, 3);
  EXPECT_SAYS(after([&] { edit_index([&](auto& j) { j["weight_map"][packed_] = other; }); }),
              other + ": " + packed_);
  EXPECT_SAYS(after([&] { edit_index([&](auto& j) { j["weight_map"].erase(packed_); }); }),
              packed_ + ": value (absent)");
  for (const char* name : {"../model.safetensors", "/etc/passwd", "..", "", "a\\b"}) {
    EXPECT_SAYS(after([&] { edit_index([&](auto& j) { j["weight_map"][packed_] = name; }); }),
                "without a path")
        << name;
  }
  const std::string nul("a\0b", 3);
  EXPECT_SAYS(after([&] { edit_index([&](auto& j) { j["weight_map"][packed_] = nul; }); }), "without a path");
  const auto instead = [this](const std::string& text) {
    const std::string said = after([&] { write_bytes(path(kIndex), text); });
    EXPECT_SAYS(said, kIndex) << text;
    EXPECT_SAYS(said, "CKP-1") << text;
  };
  for (const char* text :
       {"", "{", "[]", "3", "\"a\"", "null", "{}", "{}x", R"({"weight_map":3})", R"({"weight_map":[]})",
        R"({"weight_map":"a"})", R"({"weight_map":null})", R"({"weight_map":{"a":3}})",
        R"({"weight_map":{"a":{}}})", R"({"weight_map":{"a":["b"]}})", R"({"weight_map":{"a":"b","a":"c"}})",
        R"({"weight_map":{},"weight_map":{}})", R"({"metadata":{"weight_map":{"a":"b"}}})",
        "{\"weight_map\":{\"\xff\":\"a\"}}"}) {
    instead(text);
  }
  std::string deep = R"({"metadata":)";
  for (int n = 0; n < 100000; ++n) deep += "[";
  instead(deep);
  EXPECT_SAYS(after([this] {
                write_bytes(path(kIndex), R"({"metadata":{"x":[{"weight_map":1}]},"weight_map":{}})");
              }),
              "CKP-5");
}

TEST_F(CheckpointRefuses, TwoKindsOfNamesInOneLayer) {
  RawTensors tensors = model_tensors(m_);
  tensors.push_back({"model.layers.2.block_sparse_moe.experts.0.w1.weight_packed", "U8", {1}, "x"});
  write_shards(path(""), tensors, 2);
  EXPECT_SAYS(message(path(""), request_), "CKP-5: the experts of a layer");
  EXPECT_EQ(message(path(""), {1, Projection::kDown, {}}), "");
}

TEST(ExpertTensorNames, AreTakenApartOrLeftAlone) {
  const auto stem = [](const char* name) {
    const auto parsed = parse_expert_tensor_name(name);
    return parsed ? std::string(parsed->stem) + "|" + std::to_string(parsed->layer) + "|" +
                        (parsed->expert ? std::to_string(*parsed->expert) : "-")
                  : "";
  };
  EXPECT_EQ(stem("model.layers.60.mlp.experts.383.down_proj.weight_scale"),
            "model.layers.60.mlp.experts.|60|383");
  EXPECT_EQ(stem("language_model.model.layers.1.block_sparse_moe.experts.895.w2.weight_packed"),
            "language_model.model.layers.1.block_sparse_moe.experts.|1|895");
  EXPECT_EQ(stem("model.layers.3.mlp.experts.down_proj_scales"), "model.layers.3.mlp.experts.|3|-");
  EXPECT_EQ(stem("block.35.mlp.mlp1_weight.blocks"), "block.35.mlp.|35|-");
  for (const char* other :
       {"", "model.layers.3.mlp.gate_proj.weight", "model.layers.3.mlp.shared_experts.gate_proj.weight",
        "model.layers.03.mlp.experts.0.up_proj.weight_packed",
        "model.layers.3.mlp.experts.-1.up_proj.weight_packed",
        "model.layers.99999999999999999999.mlp.experts.0.up_proj.weight_packed",
        "model.layers.3.mlp.experts.0.up_proj.", "model.layers.3.mlp.experts.0.w1.weight_packed",
        "model.layers.3.block_sparse_moe.experts.0.up_proj.weight_packed", "block.3.mlp.gate.weight",
        "block.3.attn.qkv.weight", "xmodel.layers.3.mlp.experts.0.up_proj.weight_packed"}) {
    EXPECT_EQ(stem(other), "") << other;
  }
}

}  // namespace
}  // namespace moe4::oracle
